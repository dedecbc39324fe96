package profile

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// catch is deferred around everything that runs the profile's own code for a
// caller: a panic becomes a CrashError in err and ends there.
func (r *Runtime) catch(err *error) {
	if p := recover(); p != nil {
		*err = r.crashed(p, debug.Stack())
	}
}

// contain is catch for goroutines of the runtime's own.
func (r *Runtime) contain() {
	if p := recover(); p != nil {
		_ = r.crashed(p, debug.Stack()) // it is logged and shows in Health
	}
}

// crashed throws the engine away and refuses turns for a while.
func (r *Runtime) crashed(p any, stack []byte) error {
	cause := fmt.Sprint(p)
	r.o.Log.Error(errors.New(cause), "the profile's runtime crashed", "profile", r.Name(), "stack", string(stack))
	now := r.o.Clock.Now()
	r.mu.Lock()
	r.breaker = r.breaker.crashed(now)
	r.crash, _, _ = strings.Cut(cause, "\n")
	err := &CrashError{Cause: r.crash, Until: r.breaker.until}
	r.retire(r.engine)
	r.engine = nil
	if r.recovery != nil {
		r.recovery.Stop()
	}
	if !r.closed {
		r.recovery = r.o.Clock.AfterFunc(err.Until.Sub(now), r.o.Changed)
	}
	r.mu.Unlock()
	r.o.Changed()
	return err
}
