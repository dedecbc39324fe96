package process

import "time"

// Times that this process took itself carry a monotonic reading, so a wall clock
// that is set does not change what is reckoned from them. What an earlier process
// wrote down has lost it; these functions bound what such a time may do.

// trustedAttempt is when a start that an earlier engine planned is due. No pause
// is longer than the longest back-off, whatever the clock was set to since.
func trustedAttempt(planned, now time.Time) time.Time {
	if planned.IsZero() || planned.Sub(now) <= backoffCap {
		return planned
	}
	return now.Add(backoffCap)
}

// trustedReady is since when an adopted run has been ready, reckoned from now. It
// is never in the future and never before the process started, which the kernel
// tells in ticks of a clock that nobody sets. Zero stays zero: it was not ready.
func trustedReady(readyAt, now time.Time, ageTicks int64) time.Time {
	if readyAt.IsZero() {
		return readyAt
	}
	const tick = time.Second / userHZ
	ready := min(now.Sub(readyAt), time.Duration(max(ageTicks, 0))*tick)
	return now.Add(-max(ready, 0))
}

// userHZ is the unit of process start times, in a second.
const userHZ = 100
