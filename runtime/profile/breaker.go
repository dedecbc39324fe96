package profile

import "time"

const (
	// breakerFirst and breakerMost bound how long a crashed profile stays closed.
	breakerFirst = time.Second
	breakerMost  = 5 * time.Minute
	// breakerForget is how long a profile must have been well for earlier crashes not to count.
	breakerForget = 10 * time.Minute
)

// breaker counts a profile's crashes and says when it may run again. It is a
// value: every change returns a new one.
type breaker struct {
	crashes int
	last    time.Time
	until   time.Time
}

// crashed returns the breaker after a crash at now: closed for 1 s after the
// first, doubling to 5 min, starting over after 10 min without one.
func (b breaker) crashed(now time.Time) breaker {
	if !b.last.IsZero() && now.Sub(b.last) >= breakerForget {
		b.crashes = 0
	}
	wait := breakerMost
	if b.crashes < 9 {
		wait = min(breakerFirst<<b.crashes, breakerMost)
	}
	return breaker{crashes: b.crashes + 1, last: now, until: now.Add(wait)}
}

// open reports whether the profile must not run at now.
func (b breaker) open(now time.Time) bool { return now.Before(b.until) }
