package process

import "time"

const (
	// drainCall bounds one question to the control socket on the way down.
	drainCall = 2 * time.Second
	// termGrace is the time between SIGTERM and SIGKILL.
	termGrace = 10 * time.Second
	// killWait bounds the wait for a killed tree to be gone; the kernel needs milliseconds.
	killWait = 5 * time.Second
)

// StopBudget is the longest a stop takes with the given drain timeout: drain,
// SIGTERM, grace, SIGKILL of the tree. Every outer wait (CLI, unit, pod grace)
// derives from it so that no outer wait ends before the inner one.
// Implements guarantee G8.
func StopBudget(drain time.Duration) time.Duration {
	return max(drain, 0) + drainCall + termGrace + killWait
}
