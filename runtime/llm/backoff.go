package llm

import "time"

// turnedAwayWait bounds the waits of a request while the host does not exist or refuses connections.
const turnedAwayWait = 3 * time.Second

// Policy bounds how hard one request is tried.
type Policy struct {
	// MaxRetries is how many times a request is sent again after a wait; taking another key does not count.
	MaxRetries int
	// MaxWait bounds the sum of the waits. A wait that would pass it is not begun.
	MaxWait time.Duration
	// Base and Cap bound the exponential back-off.
	Base, Cap time.Duration
}

// DefaultPolicy is three retries within MaxRetryAfter of waiting, 2 s doubling to 60 s. Implements L18.
func DefaultPolicy() Policy {
	return Policy{MaxRetries: 3, MaxWait: MaxRetryAfter, Base: 2 * time.Second, Cap: 60 * time.Second}
}

// Backoff is the wait before retry number n (from 0). What the server asked for wins; otherwise the wait doubles from
// Base to Cap, from twice Base for a rate limit, and the upper half is jittered by random in [0,1). Implements L18.
func (p Policy) Backoff(n int, e *Error, random float64) time.Duration {
	if e.RetryAfter > 0 {
		return min(e.RetryAfter, MaxRetryAfter)
	}
	d := p.Base
	if e.Reason == ReasonRateLimit || e.Reason == ReasonUpstreamRateLimit {
		d *= 2
	}
	for range n {
		if d >= p.Cap {
			break
		}
		d *= 2
	}
	d = min(d, p.Cap)
	half := d / 2
	return max(min(p.Base, p.Cap), half+time.Duration(random*float64(d-half)))
}

// action is what follows a failed attempt.
type action int

const (
	giveUp    action = iota
	waitSame         // the same key again after a wait
	rotateNow        // another key at once
)

// tried is what one request has been through so far.
type tried struct {
	retries int           // waits begun
	waited  time.Duration // their sum
	limited int           // rate limits in a row on the current key
	fresh   int           // keys of the list this request has not used up yet, without the current one
}

// decide is the rule of what follows a failure. Implements L17 and L20.
func (p Policy) decide(t tried, e *Error, random float64) (action, time.Duration) {
	if e.Rotate && t.fresh > 0 {
		first := e.Reason == ReasonRateLimit && t.limited <= 1 && !hasAny(lower(e.Message), usageLimitWords)
		if !first {
			return rotateNow, 0
		}
	}
	if !e.RepeatHelps() || t.retries >= p.MaxRetries {
		return giveUp, 0
	}
	if turnedAway(e) {
		p.MaxWait, p.Base, p.Cap = min(p.MaxWait, turnedAwayWait), min(p.Base, turnedAwayWait/6), min(p.Cap, turnedAwayWait/3)
	}
	wait := p.Backoff(t.retries, e, random)
	if t.waited+wait > p.MaxWait {
		return giveUp, 0
	}
	return waitSame, wait
}
