//go:build !linux

package chat

import "golang.org/x/sys/unix"

// flushRead is FREAD of sys/fcntl.h.
const flushRead = 1

// discardInput throws away what a terminal holds of keys that were pressed and not read.
func discardInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushRead) }
