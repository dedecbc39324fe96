package gcpace

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		from      state
		allocated uint64
		want      state
	}{
		"rest stays rest":          {state{}, busyBytes - 1, state{}},
		"a burst begins":           {state{}, busyBytes, state{busy: true}},
		"a burst goes on":          {state{busy: true, quiet: restLooks - 1}, busyBytes, state{busy: true}},
		"a pause in a burst":       {state{busy: true}, 0, state{busy: true, quiet: 1}},
		"a long pause is rest":     {state{busy: true, quiet: restLooks - 1}, 0, state{}},
		"a lull counts its looks":  {state{busy: true, quiet: 3}, busyBytes - 1, state{busy: true, quiet: 4}},
		"rest does not count down": {state{}, 0, state{}},
	} {
		if got := c.from.next(c.allocated); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

var sink []byte

func TestKeepFollowsTheLoad(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go Keep(ctx, clock.RealClock{})
		expect := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			got := debug.SetGCPercent(want)
			if got != want {
				t.Errorf("%s: GC percentage %d, want %d", when, got, want)
			}
		}
		expect("at first", RestPercent)
		for range 3 { // more than the bubble's own allocations
			sink = make([]byte, busyBytes)
		}
		time.Sleep(look + time.Millisecond)
		expect("in a burst", BusyPercent)
		time.Sleep(restLooks * look)
		expect("after it", RestPercent)
	})
}
