package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// closeGrace is how long a connection gets to end properly.
const closeGrace = 5 * time.Second

// handshakeLegacy is the newest protocol version that begins with a handshake.
const handshakeLegacy = "2025-11-25"

// link is one live connection.
type link struct {
	settings Server
	session  *sdk.ClientSession
	carrier  carrier
	began    time.Time

	// calls end with stopCalls, everything of the connection with abort.
	calls     context.Context
	stopCalls context.CancelFunc
	abort     context.CancelCauseFunc
	// ended is closed when the connection is gone; err says why.
	ended chan struct{}
	err   error
	// slot holds a token for each call that runs, when the server takes one at a time.
	slot chan struct{}
	// changed receives when the server says that its tools have changed.
	changed chan struct{}

	mu       sync.Mutex
	running  int
	draining bool
	doubt    bool // a call failed without an answer: no more of them until it has been looked at
	used     time.Time
	idle     chan struct{} // closed when the last call of a draining link has ended
}

// carrier is a transport with what there is to know of it.
type carrier interface {
	sdk.Transport
	// release frees what the transport holds once its connection is closed.
	release()
	// explain adds to an error what the transport knows.
	explain(err error) error
}

// kept remembers the connection of a transport, for the failures after which the SDK leaves it open.
type kept struct {
	sdk.Transport
	conn sdk.Connection
}

func (k *kept) Connect(ctx context.Context) (c sdk.Connection, err error) {
	k.conn, err = k.Transport.Connect(ctx)
	return k.conn, err
}

// opening is one way to begin.
type opening struct {
	version string
	// share is the part of the connect timeout it may take.
	share float64
}

// openings are the ways to begin, in order. A server that knows only the handshake may answer the first message of the
// stateless protocol with silence or by ending; then the handshake begins on a new connection.
func openings(p Protocol) []opening {
	switch p {
	case ProtocolStateless:
		return []opening{{"", 1}}
	case ProtocolLegacy:
		return []opening{{handshakeLegacy, 1}}
	}
	return []opening{{"", 0.25}, {handshakeLegacy, 0.75}}
}

// dial connects in the ways there are. What it returns has to be closed.
func dial(ctx context.Context, o *Options, dir string, s Server) (*link, error) {
	var failed error
	for _, way := range openings(s.Protocol) {
		l, err := dialOnce(ctx, o, dir, s, way)
		if err == nil {
			return l, nil
		}
		failed = err
		var start *startError
		if errors.As(err, &start) || ctx.Err() != nil {
			break // another protocol would not help
		}
	}
	return nil, failed
}

func dialOnce(ctx context.Context, o *Options, dir string, s Server, way opening) (_ *link, err error) {
	// The connection's life is its owner's to end, properly; only until it is made it ends with ctx.
	life, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { abort(context.Cause(ctx)) })()
	l := &link{settings: s, abort: abort, ended: make(chan struct{}), changed: make(chan struct{}, 1), idle: make(chan struct{})}
	l.calls, l.stopCalls = context.WithCancel(life)
	if !s.Parallel {
		l.slot = make(chan struct{}, 1)
	}
	patience := time.Duration(float64(s.ConnectTimeout) * way.share)
	timer := o.Clock.AfterFunc(patience, func() { abort(fmt.Errorf("no answer within %s", patience)) })
	defer timer.Stop()
	if s.Command != "" {
		l.carrier = newLocal(o, dir, &s)
	} else if l.carrier, err = newRemote(life, o.Home, &s); err != nil {
		abort(err)
		return nil, err
	}
	transport := &kept{Transport: l.carrier}
	l.session, err = l.client(o).Connect(life, transport, &sdk.ClientSessionOptions{ProtocolVersion: way.version})
	if err == nil && s.Protocol == ProtocolStateless && l.legacy() {
		_ = l.session.Close()
		err = errors.New("the server does not speak the stateless protocol: set protocol to auto")
	}
	if err != nil {
		var start *startError
		if errors.As(err, &start) {
			err = start
		} else if cause := context.Cause(life); cause != nil {
			err = cause
		}
		abort(err)
		if transport.conn != nil {
			_ = transport.conn.Close()
		}
		l.carrier.release()
		return nil, l.carrier.explain(err)
	}
	l.began = o.Clock.Now()
	l.used = l.began
	go func() {
		defer close(l.ended)
		l.err = l.session.Wait()
	}()
	return l, nil
}

// legacy reports whether the connection began with a handshake.
func (l *link) legacy() bool {
	r := l.session.InitializeResult()
	return r == nil || r.ProtocolVersion <= handshakeLegacy
}

// client says what this side can do: nothing but what is asked of it. Sampling, elicitation and roots are not offered.
func (l *link) client(o *Options) *sdk.Client {
	news := func() {
		select {
		case l.changed <- struct{}{}:
		default: // it is known already
		}
	}
	return sdk.NewClient(&sdk.Implementation{Name: "hermes", Version: "1"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		Logger:                 quiet(o.Log.WithValues("server", l.settings.Name)),
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { news() },
	})
}

// enter counts a call in; leave must follow. It is refused while the link is in doubt, and once it drains or has ended.
func (l *link) enter() bool {
	select {
	case <-l.ended:
		return false
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining || l.doubt {
		return false
	}
	l.running++
	return true
}

func (l *link) setDoubt(doubt bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = doubt
}

func (l *link) doubted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubt
}

func (l *link) leave(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	l.used = now
	if l.draining && l.running == 0 {
		close(l.idle)
	}
}

// drain takes no new calls; the channel is closed when those that run are over.
func (l *link) drain() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.draining {
		l.draining = true
		if l.running == 0 {
			close(l.idle)
		}
	}
	return l.idle
}

// rest reports whether nothing runs, and since when nothing was used.
func (l *link) rest() (resting bool, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running == 0, l.used
}

// close ends the connection with everything that belongs to it, and waits for that.
func (l *link) close(clk Clock) {
	l.stopCalls()
	timer := clk.AfterFunc(closeGrace, func() { l.abort(errors.New("the connection does not close")) })
	_ = l.session.Close()
	timer.Stop()
	l.abort(errors.New("the connection is closed"))
	<-l.ended
	l.carrier.release()
}

// cause says why a connection ended.
func (l *link) cause() error {
	err := l.err
	if err == nil {
		err = errors.New("the connection was closed by the server")
	}
	return l.carrier.explain(err)
}
