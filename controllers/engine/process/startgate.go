package process

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// startGate bounds how many gateways are starting at once, over all workloads,
// and spaces their starts. Implements guarantee G11.
type startGate struct {
	clk      clock.WithTicker
	interval time.Duration
	slots    chan struct{}

	mu   sync.Mutex
	next time.Time
}

func newStartGate(clk clock.WithTicker, slots int, interval time.Duration) *startGate {
	return &startGate{clk: clk, interval: interval, slots: make(chan struct{}, slots)}
}

// enter waits for a slot and its moment. release gives the slot back and may be
// called more than once. It returns nil when wake or ctx ended the wait first.
func (g *startGate) enter(ctx context.Context, wake <-chan struct{}) (release func()) {
	select {
	case g.slots <- struct{}{}:
	case <-wake:
		return nil
	case <-ctx.Done():
		return nil
	}
	release = sync.OnceFunc(func() { <-g.slots })
	pause := g.reserve()
	if pause <= 0 {
		return release
	}
	timer := g.clk.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return release
	case <-ctx.Done():
		release()
		return nil
	}
}

// reserve takes the next moment for a start and returns how far off it is.
func (g *startGate) reserve() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clk.Now()
	at := now
	if g.next.After(now) {
		at = g.next
	}
	g.next = at.Add(g.interval)
	return at.Sub(now)
}

// full reports whether a start would have to wait for a slot.
func (g *startGate) full() bool { return len(g.slots) == cap(g.slots) }
