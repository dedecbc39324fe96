package store

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestLockEndsWithItsHolder: a child between its fork and its exec holds a copy of every descriptor, that of the lock
// included. A store that was closed meanwhile can be opened again at once.
func TestLockEndsWithItsHolder(t *testing.T) {
	path := storePath(t)
	l, err := acquireLock(path, false)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := unix.Dup(int(l.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(copied)
	if err := l.release(); err != nil {
		t.Fatal(err)
	}
	again, err := acquireLock(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.release(); err != nil {
		t.Fatal(err)
	}
}
