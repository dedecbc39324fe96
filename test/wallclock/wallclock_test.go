package wallclock

import (
	"testing"
	"time"
)

// The layout of time.Time is the standard library's own affair: this is what notices when it changes.
func TestShiftMovesWallTimeOnly(t *testing.T) {
	now := time.Now()
	for _, d := range []time.Duration{24 * time.Hour, -24 * time.Hour, time.Second, 0} {
		shifted := Shift(now, d)
		if wall := shifted.Round(0).Sub(now.Round(0)); wall != d {
			t.Errorf("wall time moved by %s, want %s", wall, d)
		}
		if mono := shifted.Sub(now); mono != 0 {
			t.Errorf("monotonic time moved by %s", mono)
		}
	}
	var c Clock
	before := c.Now()
	c.Step(-24 * time.Hour)
	if passed := c.Since(before); passed < 0 || passed > time.Minute {
		t.Errorf("a step counts as %s", passed)
	}
	if c.Now().Round(0).After(before.Round(0)) {
		t.Error("the wall clock was not set back")
	}
}
