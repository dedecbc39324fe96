package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an open-file-description lock: owned by this descriptor, so two Stores in one process exclude each
// other too and no unrelated close drops it.
func lockFile(file *os.File, shared bool) error {
	lock := wholeFile(unix.F_WRLCK)
	if shared {
		lock.Type = unix.F_RDLCK
	}
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return errHeld
	default:
		return fmt.Errorf("store lock on %s (does its filesystem support locks?): %w", file.Name(), err)
	}
}

// unlockFile drops the lock for every descriptor of the open file.
func unlockFile(file *os.File) error {
	lock := wholeFile(unix.F_UNLCK)
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		return fmt.Errorf("store lock on %s: %w", file.Name(), err)
	}
	return nil
}

// exclusivelyHeld is true when a writer holds the lock, whose pid the file then carries.
func exclusivelyHeld(file *os.File) bool {
	lock := wholeFile(unix.F_RDLCK)
	err := unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, &lock)
	return err == nil && lock.Type == unix.F_WRLCK
}

func wholeFile(kind int16) unix.Flock_t {
	return unix.Flock_t{Type: kind, Whence: io.SeekStart}
}
