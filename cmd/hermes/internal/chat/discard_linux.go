package chat

import "golang.org/x/sys/unix"

// discardInput throws away what a terminal holds of keys that were pressed and not read.
func discardInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
