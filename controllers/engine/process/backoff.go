package process

import "time"

const (
	backoffBase = time.Second
	backoffCap  = 5 * time.Minute
	// healthyAfter is how long a run must have been ready for its predecessors' failures to be forgotten.
	healthyAfter = 10 * time.Minute
)

// backoff is the pause before the next start after the given number of
// failures in a row (1 for the first). jitter in [0,1) takes up to a fifth off,
// so that gateways that failed together do not return together. The pause never
// exceeds five minutes and there is no number of failures after which it ends.
// Implements guarantee G4.
func backoff(failures int, jitter float64) time.Duration {
	d := backoffCap
	if shift := max(failures, 1) - 1; shift < 9 { // 2^9 s is above the cap
		d = min(backoffBase<<shift, backoffCap)
	}
	return d - time.Duration(float64(d)*0.2*min(max(jitter, 0), 1))
}

// failuresAfter is the number of failures in a row once a run ended that had
// been ready for the given time. Implements guarantee G4 (reset).
func failuresAfter(before int, ready time.Duration) int {
	if ready >= healthyAfter {
		return 1
	}
	return before + 1
}
