package process

import (
	"context"
	"sync"

	"hermes.dev/hermes/controllers/engine"
)

// announcer hands changed workloads to one reader. Announcing never waits, and
// a workload that changes again before it was read is announced once.
type announcer struct {
	out  chan engine.Ref
	wake chan struct{}

	mu      sync.Mutex
	pending map[engine.Ref]struct{}
	order   []engine.Ref
}

func newAnnouncer() *announcer {
	return &announcer{out: make(chan engine.Ref), wake: make(chan struct{}, 1), pending: map[engine.Ref]struct{}{}}
}

func (a *announcer) announce(ref engine.Ref) {
	a.mu.Lock()
	if _, waiting := a.pending[ref]; !waiting {
		a.pending[ref] = struct{}{}
		a.order = append(a.order, ref)
	}
	a.mu.Unlock()
	signalOnce(a.wake)
}

func (a *announcer) next() (engine.Ref, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.order) == 0 {
		return engine.Ref{}, false
	}
	ref := a.order[0]
	a.order = a.order[1:]
	delete(a.pending, ref)
	return ref, true
}

func (a *announcer) run(ctx context.Context) {
	for {
		ref, ok := a.next()
		if !ok {
			select {
			case <-a.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case a.out <- ref:
		case <-ctx.Done():
			return
		}
	}
}

// signalOnce wakes the reader of a channel of capacity one; a wake-up that is already waiting is enough.
func signalOnce(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
