// Package gcpace sets how often the garbage collector of this process runs. One setting cannot serve
// both states of a control plane: at rest its heap is small and everything above it is waste for weeks,
// and in a burst of writes collecting as often as that takes a quarter of the processor. It owns the
// process's GC percentage and touches nothing else.
package gcpace

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/utils/clock"
)

const (
	// RestPercent keeps an idle process small.
	RestPercent = 60
	// BusyPercent halves and halves again the work of collecting; the memory limit still bounds the heap.
	BusyPercent = 200

	look = time.Second
	// busyBytes of allocations in a look make a burst: some twenty writes.
	busyBytes = 16 << 20
	// restLooks without a burst end it.
	restLooks = 10
)

// state is what the pace depends on.
type state struct {
	busy  bool
	quiet int
}

// next is the state after a look that saw so many bytes allocated. It is a pure function.
func (s state) next(allocated uint64) state {
	switch {
	case allocated >= busyBytes:
		return state{busy: true}
	case s.busy && s.quiet+1 < restLooks:
		return state{busy: true, quiet: s.quiet + 1}
	default:
		return state{}
	}
}

// Keep adapts the pace until ctx ends. When a burst is over it collects once and gives the memory back.
func Keep(ctx context.Context, c clock.WithTicker) {
	debug.SetGCPercent(RestPercent)
	tick := c.NewTicker(look)
	defer tick.Stop()
	var s state
	last := allocated()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
		now := allocated()
		was := s
		s, last = s.next(now-last), now
		switch {
		case s.busy && !was.busy:
			debug.SetGCPercent(BusyPercent)
		case was.busy && !s.busy:
			debug.SetGCPercent(RestPercent)
			debug.FreeOSMemory()
		}
	}
}

// allocated is how many bytes this process has allocated since it started. Reading it stops nothing.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
