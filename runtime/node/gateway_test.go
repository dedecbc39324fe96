package node

import (
	"testing"
	"time"
)

// TestPause: one change of the served set shows soon, a long burst is written rarely.
func TestPause(t *testing.T) {
	for streak, want := range map[int]time.Duration{
		0: 250 * time.Millisecond, 1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 4: 2 * time.Second, 1000: 2 * time.Second,
	} {
		if got := pause(streak); got != want {
			t.Errorf("pause(%d) = %s, want %s", streak, got, want)
		}
	}
}
