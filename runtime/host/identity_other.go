//go:build !linux && !darwin

package host

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Observe asks the kernel about a pid. Start times are not available through a stable interface here, so a running pid
// stays Unknown to every comparison and only its absence proves anything.
// Implements G-212.
func Observe(pid int) Observation {
	if pid < 1 {
		return Observation{State: Dead}
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return Observation{State: Dead}
	}
	return Observation{State: Unknown}
}
