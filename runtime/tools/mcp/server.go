package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"
)

// server is one declared server; its goroutine, run, owns the connection.
type server struct {
	v    *Servers
	name string

	// kick wakes run to look at what has changed.
	kick chan struct{}
	gone chan struct{} // closed when run has ended

	mu     sync.Mutex
	want   declared
	word   string
	status status
	link   *link
	offer  offer
	// told is what was last told of the server being in trouble.
	told bool
	// wake says that somebody wants to call a server that is asleep.
	wake bool
	// moved is closed and made anew at every change of status.
	moved chan struct{}
}

// declared is what a server is to be: its expanded settings, where it runs, and why it is off.
type declared struct {
	Server
	dir, off string
	// removed servers end once their calls are over.
	removed bool
}

func (s *server) snapshot() (status, offer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status, s.offer
}

func (s *server) declared() declared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.want
}

// declare changes what is wanted; run acts on it.
func (s *server) declare(want declared) {
	s.mu.Lock()
	same := reflect.DeepEqual(s.want, want)
	s.want = want
	s.mu.Unlock()
	if !same {
		s.nudge()
	}
}

func (s *server) nudge() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// enter changes the status. l is the connection that calls may use from now on, nil for none.
func (s *server) enter(phase Phase, why string, next time.Time, l *link) {
	now := s.v.o.Clock.Now()
	s.mu.Lock()
	before := s.status
	s.status.phase, s.status.why, s.status.next = phase, why, next
	if before.phase != phase {
		s.status.since = now
	}
	switch {
	case phase == PhaseConnected || phase == PhaseAsleep:
		s.status.lost = time.Time{}
	case before.phase == PhaseConnected || before.phase == PhaseAsleep:
		s.status.lost = now
	}
	s.link = l
	trouble := s.status.troubled(now)
	news := trouble != s.told
	s.told = trouble
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	if news {
		s.v.o.Changed()
	}
}

// run keeps the server as it is declared until ctx ends.
func (s *server) run(ctx context.Context) {
	defer close(s.gone)
	failures := 0
	for ctx.Err() == nil {
		want := s.declared() // before forget: a removal between the two shows in live
		if s.v.forget(s) {
			break
		}
		if phase, why := want.rests(); phase != "" {
			failures = 0
			s.enter(phase, why, time.Time{}, nil)
			s.await(ctx, nil, func() bool { return !reflect.DeepEqual(s.declared(), want) })
			continue
		}
		healthy, err := s.live(ctx, want)
		if healthy {
			failures = 0
		}
		if err == nil {
			failures = 0 // it ended on purpose
			continue
		}
		if ctx.Err() != nil {
			break
		}
		failures++
		s.pause(ctx, want, failures, err)
	}
	s.enter(PhaseOff, errGone.Error(), time.Time{}, nil)
}

// rests says why a server is not to be connected.
func (d declared) rests() (Phase, string) {
	switch {
	case d.off != "":
		return PhaseOff, d.off
	case d.Disabled:
		return PhaseOff, "disabled in its declaration"
	case d.Invalid != "":
		return PhaseInvalid, d.Invalid
	}
	return "", ""
}

// pause waits until the next attempt, or until the declaration changes.
func (s *server) pause(ctx context.Context, want declared, failures int, err error) {
	why := want.hide(oneLine(err.Error()))
	wait := delayAfter(failures, rand.Float64()) // spreads load, hides nothing
	next := s.v.o.Clock.Now().Add(wait)
	s.enter(PhaseLost, why, next, nil)
	s.v.o.Log.Info("an MCP server is not connected", "server", s.name, "why", why, "next", next, "failures", failures)
	timer := s.v.o.Clock.NewTimer(wait)
	defer timer.Stop()
	s.await(ctx, timer.C(), func() bool { return !reflect.DeepEqual(s.declared(), want) })
}

// await returns when ctx or the timer ends, or when a nudge finds that it is time.
func (s *server) await(ctx context.Context, timer <-chan time.Time, timely func() bool) {
	for !timely() {
		select {
		case <-ctx.Done():
			return
		case <-timer:
			return
		case <-s.kick:
		}
	}
}

// live makes one connection and keeps it to its end. err is nil when it ended on purpose; healthy says that it lived
// long enough for earlier failures to be forgotten. A panic is a failure like another.
func (s *server) live(ctx context.Context, want declared) (healthy bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	st, _ := s.snapshot()
	s.enter(PhaseConnecting, st.why, time.Time{}, nil)
	l, err := s.connect(ctx, want)
	if err != nil {
		return false, err
	}
	defer l.close(s.v.o.Clock)
	offer, err := s.list(ctx, l)
	if err != nil {
		return false, l.carrier.explain(err)
	}
	s.publish(offer)
	s.enter(PhaseConnected, "", time.Time{}, l)
	s.v.o.Log.V(1).Info("an MCP server is connected", "server", s.name, "tools", len(offer.tools))
	end, err := s.serve(ctx, want, l)
	healthy = s.v.o.Clock.Since(l.began) >= healthyAfter
	switch end {
	case endIdle:
		s.sleep(ctx, want, l)
	case endChanged, endOld:
		s.enter(PhaseConnecting, "", time.Time{}, nil)
		s.drain(ctx, l)
	default:
		s.enter(PhaseLost, want.hide(oneLine(fmt.Sprint(err))), time.Time{}, nil)
	}
	return healthy, err
}

// startShare is how long the start of one server keeps others from starting: that of a sound one takes about that, and
// one that hangs must not keep others waiting.
const startShare = 2 * time.Second

// connect waits for its turn among the servers of the process and connects.
func (s *server) connect(ctx context.Context, want declared) (*link, error) {
	if want.Command != "" {
		select {
		case s.v.o.Starts <- struct{}{}:
			next := sync.OnceFunc(func() { <-s.v.o.Starts })
			defer next()
			defer s.v.o.Clock.AfterFunc(startShare, next).Stop()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return dial(ctx, &s.v.o, want.dir, want.Server)
}

// drain lets the calls that run finish; each is bounded by its timeout.
func (s *server) drain(ctx context.Context, l *link) {
	select {
	case <-l.drain():
	case <-l.ended:
	case <-ctx.Done():
	}
}

// sleep ends the connection of a server that nobody uses, and returns when somebody does.
func (s *server) sleep(ctx context.Context, want declared, l *link) {
	l.drain()
	l.close(s.v.o.Clock)
	s.mu.Lock()
	s.wake = false
	s.mu.Unlock()
	s.enter(PhaseAsleep, "nobody uses it: the next call starts it", time.Time{}, nil)
	s.await(ctx, nil, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.wake || !reflect.DeepEqual(s.want, want)
	})
}

// ending is why a connection is given up.
type ending int

const (
	endLost ending = iota
	endChanged
	endIdle
	endOld
)

// refreshPause keeps a server that announces changes without end from being asked without end.
const refreshPause = 5 * time.Second

// serve looks after a connection until it ends or has to.
func (s *server) serve(ctx context.Context, want declared, l *link) (ending, error) {
	clk := s.v.o.Clock
	answered, refreshed := clk.Now(), clk.Now().Add(-refreshPause)
	stale := false
	for {
		wait := s.nextLook(want, l, answered)
		if stale {
			wait = min(wait, max(refreshPause-clk.Since(refreshed), 0))
		}
		timer := clk.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return endChanged, nil
		case <-l.ended:
			timer.Stop()
			return endLost, l.cause()
		case <-l.changed:
			stale = true
		case <-s.kick:
		case <-timer.C():
		}
		timer.Stop()
		if !reflect.DeepEqual(s.declared(), want) {
			return endChanged, nil
		}
		resting, since := l.rest()
		now := clk.Now()
		switch {
		case resting && want.Command != "" && want.IdleTimeout > 0 && now.Sub(since) >= want.IdleTimeout:
			return endIdle, nil
		case want.Command != "" && want.MaxLifetime > 0 && now.Sub(l.began) >= want.MaxLifetime:
			return endOld, nil
		case stale && now.Sub(refreshed) >= refreshPause:
			stale, refreshed = false, now
			s.refresh(ctx, l)
		}
		if doubt := l.doubted(); doubt || resting && now.Sub(answered) >= want.Keepalive {
			if err := s.ping(ctx, l, want.Keepalive); err != nil {
				return endLost, err
			}
			answered = clk.Now()
			// The stateless protocol announces changes on a stream that may have broken unnoticed.
			stale = stale || !l.legacy()
			if doubt {
				l.setDoubt(false)
				s.enter(PhaseConnected, "", time.Time{}, l)
			}
		} else if !resting {
			answered = now // a server that runs a call may not answer anything else
		}
	}
}

// nextLook is how long nothing has to be done for a connection.
func (s *server) nextLook(want declared, l *link, answered time.Time) time.Duration {
	now := s.v.o.Clock.Now()
	wait := want.Keepalive - now.Sub(answered)
	if want.Command != "" {
		if resting, since := l.rest(); resting && want.IdleTimeout > 0 {
			wait = min(wait, want.IdleTimeout-now.Sub(since))
		}
		if want.MaxLifetime > 0 {
			wait = min(wait, want.MaxLifetime-now.Sub(l.began))
		}
	}
	return max(wait, 10*time.Millisecond)
}

// maxPing is how long a server may take to answer that it is there.
const maxPing = 30 * time.Second

// ping asks whether the server is there. An answer that it does not know the question is an answer.
func (s *server) ping(ctx context.Context, l *link, patience time.Duration) error {
	ctx, cancel := l.within(ctx, s.v.o.Clock, min(patience, maxPing))
	defer cancel()
	err := l.session.Ping(ctx, nil)
	if err == nil || answer(err) {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("it does not answer: %w", err)
}

// refresh reads the tools again. What cannot be read leaves the tools as they are.
func (s *server) refresh(ctx context.Context, l *link) {
	offer, err := s.list(ctx, l)
	if err != nil {
		s.v.o.Log.Info("the tools of an MCP server have changed and cannot be read", "server", s.name, "error", l.settings.hide(err.Error()))
		return
	}
	s.publish(offer)
}

// within bounds an exchange by time and by the life of the connection.
func (l *link) within(ctx context.Context, clk Clock, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := clk.AfterFunc(d, func() { cancel(timeoutError{d}) })
	stop := context.AfterFunc(l.calls, func() { cancel(errors.New("the connection is being closed")) })
	return ctx, func() { timer.Stop(); stop(); cancel(nil) }
}

type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return "no answer within " + e.after.String() }
