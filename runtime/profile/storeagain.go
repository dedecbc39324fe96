package profile

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/store"
)

// The back-off in which a store that failed is looked at again.
const (
	storeAgainFirst = time.Second
	storeAgainMost  = 30 * time.Second
)

// storeAgain is when a store that failed is looked at again; guarded by the runtime's mutex.
type storeAgain struct {
	timer clock.Timer
	looks int
}

// mayPass reports whether a failure of the store can end without anybody changing the store: a lock is given back, a
// disk gets space, another process lets go of the home. Damage, a foreign schema and a handle that was cut off do not.
func mayPass(err error) bool {
	var retired *store.RetiredError
	switch store.Classify(err) {
	case store.BucketNone, store.BucketCorrupt, store.BucketFTSIndex, store.BucketReplaced:
		return false
	case store.BucketDeletedWAL: // when opening, the log is another process's, which may end
		return errors.As(err, &retired) && retired.Opening
	}
	return !errors.Is(err, store.ErrSchema) && !errors.Is(err, store.ErrClosed)
}

// storeAgainAfter is how long to wait before the next look, after so many in vain.
func storeAgainAfter(looks int) time.Duration {
	if looks >= 5 {
		return storeAgainMost
	}
	return storeAgainFirst << looks
}

// watchStore keeps a look due while the store's failure may pass, and none otherwise; r.mu is held.
func (r *Runtime) watchStore() {
	a := &r.storeAgain
	switch {
	case r.closed || !mayPass(r.health.err):
		if a.timer != nil {
			a.timer.Stop()
		}
		*a = storeAgain{}
	case a.timer == nil:
		a.timer = r.o.Clock.AfterFunc(storeAgainAfter(a.looks), func() {
			go r.lookAtStore() // a clock may call under a lock of its own
		})
		a.looks++
	}
}

// lookAtStore sees whether a store that failed takes writes again.
func (r *Runtime) lookAtStore() {
	if !r.hold() {
		return
	}
	defer r.background.Done()
	defer r.contain()
	r.mu.Lock()
	r.storeAgain.timer = nil
	r.mu.Unlock()
	r.noteLook(r.closing, r.withStore(r.closing, func(s *store.Store) error { return s.Probe(r.closing) }))
}

// noteLook takes what a look showed. The same cause as before is no news, however it is worded, so that a store that
// stays as it is makes no report; and a use that succeeded meanwhile knows better.
func (r *Runtime) noteLook(ctx context.Context, err error) {
	r.mu.Lock()
	same := err != nil && (ctx.Err() != nil || r.health.err == nil || !isStoreError(err) ||
		storeReason(err) == storeReason(r.health.err) && store.Classify(err) == store.Classify(r.health.err))
	if same {
		r.watchStore()
	}
	r.mu.Unlock()
	if !same {
		r.noteStore(ctx, err)
	}
}
