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
	giveUp     action = iota
	waitSame          // the same key again after a wait
	rotateNow         // another key at once
	rebuildNow        // the same key on a connection of its own after a wait
	rewritten         // the request was changed and goes out at once
)

// staleAttempts is how many attempts in a row may wait in vain for an answer before the route is left.
const staleAttempts = 2

// tried is what one request has been through so far.
type tried struct {
	retries int           // waits begun
	waited  time.Duration // their sum
	limited int           // rate limits in a row on the current key
	fresh   int           // keys of the list this request has not used up yet, without the current one
	stale   int           // attempts in a row that ended in silence
	rebuilt bool          // the connections were made anew already
}

// WithFallback bounds the waits of a route that another one stands behind: a person waits for an answer, not for a
// server.
func (p Policy) WithFallback() Policy {
	p.MaxWait = min(p.MaxWait, fallbackWait)
	return p
}

// fallbackWait bounds the sum of the waits before a fallback.
const fallbackWait = 60 * time.Second

// rebuildWait is the wait before the connections are made anew after n retries: min(3+n, 8) seconds, and never more
// than the policy's cap. Implements the rebuild of L16.
func (p Policy) rebuildWait(n int) time.Duration {
	return min(time.Duration(min(3+n, 8))*time.Second, p.Cap)
}

// isStale reports whether an attempt ended in silence.
func isStale(e *Error) bool { return e.Code == CodeFirstByteTimeout || e.Code == CodeIdleTimeout }

// onTheWire reports whether a failure is one of the connection, which a connection of its own may cure.
func onTheWire(e *Error) bool { return e.Reason == ReasonTimeout && e.Status == 0 && !turnedAway(e) }

// decide is the rule of what follows a failure. Implements L16 up to the fallback, L17 and L20.
func (p Policy) decide(t tried, e *Error, random float64) (action, time.Duration) {
	if e.Rotate && t.fresh > 0 {
		first := e.Reason == ReasonRateLimit && t.limited <= 1 && !hasAny(lower(e.Message), usageLimitWords)
		if !first {
			return rotateNow, 0
		}
	}
	switch {
	case !e.RepeatHelps():
		return giveUp, 0
	case t.retries >= p.MaxRetries:
		if p.MaxRetries == 0 || t.rebuilt || !onTheWire(e) {
			return giveUp, 0
		}
		return rebuildNow, p.rebuildWait(t.retries)
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
