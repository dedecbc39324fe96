package profile

import (
	"context"
	"errors"
	"fmt"

	"hermes.dev/hermes/runtime/agent"
)

// Turn runs one turn. Events are called on the caller's goroutine. A panic inside
// the turn ends here: the turn fails with a CrashError, the engine is thrown away,
// and turns are refused until the back-off is over.
func (r *Runtime) Turn(ctx context.Context, t agent.Turn, events agent.Events) (agent.Result, error) {
	return r.turn(ctx, t, events, nil)
}

// turn is Turn with a check that runs once the session is the caller's, and whose error is the turn's; nil for none.
func (r *Runtime) turn(ctx context.Context, t agent.Turn, events agent.Events, check func(context.Context) error) (res agent.Result, err error) {
	began := r.o.Clock.Now()
	if err := r.admit(); err != nil {
		return agent.Result{}, err
	}
	defer r.leave()
	defer func() {
		r.o.Observe(outcomeOf(err), res.Usage, r.o.Clock.Since(began))
		r.noteStore(ctx, err)
	}()
	defer r.catch(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	if err := r.claim(t.SessionID, cancel); err != nil {
		return agent.Result{}, err
	}
	defer r.unclaim(t.SessionID)
	if check != nil {
		if err := check(ctx); err != nil {
			return agent.Result{}, err
		}
	}
	t.Steering = r.listen(t.SessionID)
	e, with, err := r.enter()
	if err != nil {
		return agent.Result{}, err
	}
	defer e.turns.Done()
	defer func() { r.noteModel(e, err, with) }()
	// Held for the whole turn, so that the store does not open and close between rows.
	_, release, err := r.store.acquire(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	defer release()
	res, err = e.loop.Run(ctx, t, r.tellTitles(events))
	if res.TitleDue {
		r.entitle(e, t.SessionID)
	}
	return res, err
}

func outcomeOf(err error) string {
	var ae *agent.Error
	var ce *CrashError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &ae):
		return string(ae.Kind)
	case errors.As(err, &ce):
		return "crashed"
	default:
		return "refused"
	}
}

// claim makes the caller the one owner of a session. It is kept here and not in the
// engine, because a change of configuration makes a new engine while a turn still
// runs on the old one.
func (r *Runtime) claim(sessionID string, cancel context.CancelCauseFunc) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.running[sessionID]; busy {
		return &agent.Error{Kind: agent.KindBusy, Err: fmt.Errorf("session %s is answering already", sessionID)}
	}
	r.running[sessionID] = answering{cancel: cancel}
	return nil
}

func (r *Runtime) unclaim(sessionID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, sessionID)
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

// Stop interrupts the running turn of a session and reports whether there was one.
// It does not wait for its end.
func (r *Runtime) Stop(sessionID string) bool {
	r.mu.Lock()
	turn, ok := r.running[sessionID]
	r.mu.Unlock()
	if ok {
		turn.cancel(agent.ErrStopped)
	}
	return ok
}

// admit lets a turn, or another change of the profile's state, in; leave must follow.
func (r *Runtime) admit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return ErrClosed
	case r.draining:
		return ErrDraining
	case r.breaker.open(r.o.Clock.Now()):
		return &CrashError{Cause: r.crash, Until: r.breaker.until}
	}
	r.active++
	r.background.Add(1)
	return nil
}

func (r *Runtime) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.background.Done()
	if r.active == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}
