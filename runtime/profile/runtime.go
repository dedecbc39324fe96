package profile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
)

// Clock is what a runtime needs of time.
type Clock interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

// Options of a Runtime.
type Options struct {
	// Paths of the profile's home, already written.
	Paths home.Paths
	// RunID of this gateway run; commands of tools carry it, so that they can be found.
	RunID string
	// Transport carries model calls; profiles share it for its connections only, nil means one of its own.
	Transport http.RoundTripper
	// StoreIdle is how long an unused store stays open; 0 means 2 minutes.
	StoreIdle time.Duration
	// Changed is called, without locks held, after the health or the store's figures may have changed.
	Changed func()
	// Observe is told about every finished turn.
	Observe func(outcome string, usage llm.Usage, took time.Duration)
	Clock   Clock
	Log     logr.Logger
}

// ErrClosed means the profile is being closed and takes no new work.
var ErrClosed = errors.New("the profile is closed")

// ErrDraining means the gateway finishes what it has begun and takes no new turns.
var ErrDraining = errors.New("the gateway is stopping: try again in a moment")

// CrashError means the runtime crashed and is restarted with back-off.
type CrashError struct {
	// Cause is the panic's value as text.
	Cause string
	// Until is when turns are taken again.
	Until time.Time
}

// Error says what happened and when to try again.
func (e *CrashError) Error() string {
	return fmt.Sprintf("the profile's runtime crashed (%s): turns are taken again after %s", e.Cause, e.Until.Format(time.TimeOnly))
}

// Runtime is one open profile. Its methods are safe for concurrent use.
type Runtime struct {
	o      Options
	config *home.View
	env    *home.EnvView
	store  *lazyStore

	// closing ends when the runtime closes; turns end with it.
	closing context.Context
	close   context.CancelFunc

	// background holds goroutines that retire old engines.
	background sync.WaitGroup

	mu       sync.Mutex
	engine   *engine
	closed   bool
	draining bool
	active   int
	idle     chan struct{} // closed when active falls to 0 while closing or draining
	breaker  breaker
	crash    string
	recovery clock.Timer
	health   storeHealth
}

// Open makes a runtime of a written home. It touches no file and starts no
// goroutine: store, tools and model are made by the first turn that needs them.
func Open(o Options) *Runtime {
	if o.StoreIdle == 0 {
		o.StoreIdle = 2 * time.Minute
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Observe == nil {
		o.Observe = func(string, llm.Usage, time.Duration) {}
	}
	closing, cancel := context.WithCancel(context.Background())
	return &Runtime{
		o: o, closing: closing, close: cancel,
		config: home.NewView(o.Paths.Config(), o.Clock),
		env:    home.NewEnvView(o.Paths, o.Clock),
		store:  newLazyStore(o.Paths.Store(), o.StoreIdle, o.Clock, o.Log),
	}
}

// Name of the profile.
func (r *Runtime) Name() string { return r.o.Paths.Name }

// Paths of the profile's home.
func (r *Runtime) Paths() home.Paths { return r.o.Paths }

// Reload makes the next turn see a home that was written again.
func (r *Runtime) Reload() {
	r.config.Invalidate()
	r.env.Invalidate()
}

// Turn runs one turn. Events are called on the caller's goroutine. A panic inside
// the turn ends here: the turn fails with a CrashError, the engine is thrown away,
// and turns are refused until the back-off is over.
func (r *Runtime) Turn(ctx context.Context, t agent.Turn, events agent.Events) (res agent.Result, err error) {
	began := r.o.Clock.Now()
	if err := r.admit(); err != nil {
		return agent.Result{}, err
	}
	defer r.leave()
	defer func() {
		if p := recover(); p != nil {
			err = r.crashed(p, debug.Stack())
		}
		r.o.Observe(outcomeOf(err), res.Usage, r.o.Clock.Since(began))
		r.noteStore(ctx, err)
	}()
	e, err := r.enter()
	if err != nil {
		return agent.Result{}, err
	}
	defer e.turns.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	// Held for the whole turn, so that the store does not open and close between rows.
	_, release, err := r.store.acquire(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	defer release()
	return e.loop.Run(ctx, t, events)
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

// Stop interrupts the running turn of a session and reports whether there was one.
func (r *Runtime) Stop(sessionID string) bool {
	r.mu.Lock()
	e := r.engine
	r.mu.Unlock()
	return e != nil && e.loop.Stop(sessionID)
}

// Active counts the turns in flight.
func (r *Runtime) Active() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active
}

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
	return nil
}

func (r *Runtime) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	if r.active == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// crashed throws the engine away and refuses turns for a while.
func (r *Runtime) crashed(p any, stack []byte) error {
	cause := fmt.Sprint(p)
	r.o.Log.Error(errors.New(cause), "the profile's runtime crashed", "profile", r.Name(), "stack", string(stack))
	r.mu.Lock()
	r.breaker = r.breaker.crashed(r.o.Clock.Now())
	r.crash = firstLine(cause)
	old := r.engine
	r.engine = nil
	until := r.breaker.until
	if !r.closed {
		r.recovery = r.o.Clock.AfterFunc(until.Sub(r.o.Clock.Now()), r.o.Changed)
	}
	r.mu.Unlock()
	r.retire(old)
	r.o.Changed()
	return &CrashError{Cause: r.crash, Until: until}
}

func firstLine(s string) string {
	for i, c := range s {
		if c == '\n' {
			return s[:i]
		}
	}
	return s
}

// Drain refuses new turns and waits until those in flight are over or ctx ends; the return value counts what is left.
func (r *Runtime) Drain(ctx context.Context) int {
	r.mu.Lock()
	r.draining = true
	idle := r.waitIdle()
	r.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	return r.Active()
}

// waitIdle returns a channel that is closed when nothing is in flight; r.mu is held.
func (r *Runtime) waitIdle() <-chan struct{} {
	if r.active == 0 {
		done := make(chan struct{})
		close(done)
		return done
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	return r.idle
}

// Close interrupts what is in flight, waits for it until ctx ends, ends every
// process the tools started and closes the store.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	e := r.engine
	r.engine = nil
	idle := r.waitIdle()
	if r.recovery != nil {
		r.recovery.Stop()
	}
	r.mu.Unlock()
	r.close()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	r.retire(e)
	err := r.store.close(ctx)
	r.background.Wait()
	return err
}
