package mcp

import "time"

const (
	firstDelay = time.Second
	maxDelay   = 5 * time.Minute
	// healthyAfter is how long a connection must have lived for the next delay to be the first one again: a server that
	// crashes after each connect must not be started every second.
	healthyAfter = 10 * time.Minute
)

// delayAfter is how long to wait after the n-th failure in a row, n from 1. It doubles up to a bound and never ends;
// jitter, from 0 to 1, moves it by up to a fifth in either direction, so that servers do not come back all at once.
//
// Implements T19.
func delayAfter(n int, jitter float64) time.Duration {
	d := firstDelay
	for i := 1; i < n && d < maxDelay; i++ {
		d *= 2
	}
	d = min(d, maxDelay)
	return d + time.Duration((jitter-0.5)*0.4*float64(d))
}
