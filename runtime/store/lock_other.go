//go:build !linux

package store

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a flock, which like an open-file-description lock belongs to this descriptor.
func lockFile(file *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return errHeld
	default:
		return fmt.Errorf("store lock on %s (does its filesystem support locks?): %w", file.Name(), err)
	}
}

// exclusivelyHeld cannot be asked with flock; a writer clears its pid when it lets go, so trust the file.
func exclusivelyHeld(*os.File) bool { return true }

// unlockFile drops the lock for every descriptor of the open file.
func unlockFile(file *os.File) error {
	if err := unix.Flock(int(file.Fd()), unix.LOCK_UN); err != nil {
		return fmt.Errorf("store lock on %s: %w", file.Name(), err)
	}
	return nil
}
