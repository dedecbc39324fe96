package llm

import "time"

// Bounds of how long a route that failed is not tried first.
const (
	benchFirst = 30 * time.Second
	benchMost  = 10 * time.Minute
)

// bench is what a chain remembers of a route that failed. It is a value: every change returns a new one.
type bench struct {
	failures int
	until    time.Time
	// keys are those that were refused; with other ones the route deserves another try.
	keys fingerprint
}

// failed is the bench after a failure at now: until the reset the server named, else 30 s doubling to 10 minutes. A
// failure that only says something of the request benches nothing. Implements the last sentence of L19.
func (b bench) failed(now time.Time, e *Error, keys fingerprint) bench {
	if !e.Reason.ofTheRoute() {
		return b
	}
	wait := benchMost
	if b.failures < 5 {
		wait = benchFirst << b.failures
	}
	if e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	return bench{failures: b.failures + 1, until: now.Add(min(wait, benchMost)), keys: keys}
}

// rests reports whether the route is left alone at now.
func (b bench) rests(now time.Time, keys fingerprint) bool {
	return now.Before(b.until) && b.keys == keys
}

// ofTheRoute reports whether a failure says something of the route and not of the one request.
func (r Reason) ofTheRoute() bool {
	switch r {
	case ReasonContentPolicy, ReasonIncomplete, ReasonFormat, ReasonRoleAlternation, ReasonContextOverflow, ReasonPayloadTooLarge:
		return false
	}
	return !r.oneShot()
}

// order gives the routes in the order they are tried: those that do not rest as they are declared, then the resting
// ones, because a route that may fail is better than none.
func order(benches []bench, now time.Time, keys []fingerprint) []int {
	var ready, resting []int
	for i, b := range benches {
		if b.rests(now, keys[i]) {
			resting = append(resting, i)
		} else {
			ready = append(ready, i)
		}
	}
	return append(ready, resting...)
}
