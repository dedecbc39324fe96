// Package wallclock is a clock whose wall time a test can step while monotonic
// time goes on, as on a machine whose clock is set. A fake clock cannot show that
// kind of fault: its times carry no monotonic reading, so that a step and a wait
// look the same.
package wallclock

import (
	"sync/atomic"
	"time"
	"unsafe"

	"k8s.io/utils/clock"
)

// Clock is the real clock with a wall time that is off by what Step was told. Timers are those of the real clock.
type Clock struct {
	clock.RealClock
	off atomic.Int64
}

// Step sets the wall clock by d.
func (c *Clock) Step(d time.Duration) { c.off.Add(int64(d)) }

// Now is the present with the stepped wall time and the true monotonic reading.
func (c *Clock) Now() time.Time { return Shift(time.Now(), time.Duration(c.off.Load())) }

// Since is the time that passed; steps after t do not count when t has a monotonic reading.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// representation of time.Time with a monotonic reading: bit 63 set, 33 bits of seconds, 30 bits of nanoseconds.
type representation struct {
	wall uint64
	ext  int64
	loc  *time.Location
}

// Shift moves the wall time of t by whole seconds of d and leaves its monotonic reading as it is.
func Shift(t time.Time, d time.Duration) time.Time {
	r := (*representation)(unsafe.Pointer(&t))
	if r.wall>>63 == 0 {
		panic("wallclock: the time has no monotonic reading")
	}
	r.wall = uint64(int64(r.wall) + int64(d/time.Second)<<30) // bit arithmetic
	return t
}
