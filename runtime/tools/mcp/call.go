package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.dev/hermes/runtime/tools"
)

// reconnectPatience is how long a call waits for a server that is being connected: a restart takes about that.
const reconnectPatience = 5 * time.Second

// exchange is what a call does on a connection.
type exchange func(context.Context, *link) (tools.Result, error)

// call runs one exchange on the server's connection, on the caller's goroutine. One that may have reached the server
// is never repeated: nobody knows what a call that was cut short has done.
func (s *server) call(ctx context.Context, tool string, run exchange) (tools.Result, error) {
	res, err := s.callOnce(ctx, tool, run)
	if errors.Is(err, sdk.ErrConnectionClosed) {
		// The connection was gone before the call was sent; its loss had not been noticed yet.
		res, err = s.callOnce(ctx, tool, run)
	}
	return res, err
}

func (s *server) callOnce(ctx context.Context, tool string, run exchange) (tools.Result, error) {
	l, err := s.acquire(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() {
		l.leave(s.v.o.Clock.Now())
		s.nudge() // what waits for a resting connection looks again
	}()
	if _, offer := s.snapshot(); !offer.has(tool) {
		// It was on offer when the turn began; a filter that was changed since holds at once.
		return tools.Result{}, fmt.Errorf("MCP server %s does not offer %s any more; it did not run", s.name, tool)
	}
	if l.slot != nil {
		select {
		case l.slot <- struct{}{}:
			defer func() { <-l.slot }()
		case <-l.ended:
			return tools.Result{}, s.failure(l, errors.New("the connection ended before this call began; it did not run"))
		case <-ctx.Done():
			return tools.Result{}, errors.New("cancelled before it started")
		}
	}
	within, cancel := l.within(ctx, s.v.o.Clock, l.settings.Timeout)
	defer cancel()
	res, err := run(within, l)
	if err == nil {
		return res, nil
	}
	return tools.Result{}, s.explain(ctx, within, l, err)
}

// explain words why a call has no result, and has the connection looked at when the server did not answer.
func (s *server) explain(ctx, within context.Context, l *link, err error) error {
	var late timeoutError
	switch {
	case answer(err):
		return s.failure(l, err)
	case ctx.Err() != nil:
		return errors.New("cancelled; what it has done until then stays done")
	case errors.As(context.Cause(within), &late):
		s.look(l)
		return s.failure(l, fmt.Errorf("%w; it was told to stop, but it is not known what it has done", late))
	}
	s.look(l)
	if errors.Is(err, sdk.ErrConnectionClosed) {
		return fmt.Errorf("MCP server %s: %w before this call began; it did not run", s.name, sdk.ErrConnectionClosed)
	}
	if cause := context.Cause(within); cause != nil {
		err = cause
	}
	return s.failure(l, fmt.Errorf("the connection failed during the call, and it is not known what it has done: %w", err))
}

func (s *server) failure(l *link, err error) error {
	return fmt.Errorf("MCP server %s: %s", s.name, l.settings.hide(oneLine(err.Error())))
}

// The SDK's own errors have the form of an answer, too: a connection that is closing, and a request that did not get
// through.
const (
	codeServerClosing = -32004
	codeClientClosing = -32003
	codeRejected      = -32005
)

// answer reports whether an error is what a server has answered.
func answer(err error) bool {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return false
	}
	switch wire.Code {
	case codeServerClosing, codeClientClosing, codeRejected:
		return false
	}
	return true
}

// look has the connection checked now; until then no call uses it.
func (s *server) look(l *link) {
	l.setDoubt(true)
	s.nudge()
}

// acquire takes the connection for a call; leave must follow. It wakes a server that is asleep, and waits a moment for
// one that is being connected.
func (s *server) acquire(ctx context.Context) (*link, error) {
	patience, why := reconnectPatience, ""
	var limit <-chan time.Time
	for {
		s.mu.Lock()
		st, l, moved := s.status, s.link, s.moved
		if st.phase == PhaseAsleep {
			s.wake = true
			patience = s.want.ConnectTimeout
		}
		s.mu.Unlock()
		if l != nil && l.enter() {
			return l, nil
		}
		why = st.why
		switch st.phase {
		case PhaseOff, PhaseInvalid:
			return nil, fmt.Errorf("MCP server %s: %s", s.name, why)
		case PhaseAsleep:
			s.nudge()
		}
		if limit == nil {
			timer := s.v.o.Clock.NewTimer(patience)
			defer timer.Stop()
			limit = timer.C()
		}
		select {
		case <-moved:
		case <-s.gone:
			return nil, fmt.Errorf("MCP server %s: %w", s.name, errGone)
		case <-ctx.Done():
			return nil, errors.New("cancelled before it started")
		case <-limit:
			if why == "" {
				why = "it does not answer yet"
			}
			return nil, fmt.Errorf("MCP server %s is not connected: %s; the call did not run, and connecting is tried on and on", s.name, why)
		}
	}
}
