package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// lockSuffix names the lock file: a file of its own, because taking or dropping locks on the database file itself
// would fight SQLite's (rule S-133).
const lockSuffix = ".lock"

// fileLock is this process's claim on a store. The kernel releases it when the process dies, however it dies; the
// lock file itself stays.
type fileLock struct {
	file   *os.File
	shared bool
}

// errHeld is what the platform's lock call returns when somebody else holds the lock.
var errHeld = errors.New("lock is held")

// acquireLock claims the store at path, for writing or (shared) for reading. It never waits: the holder is a live
// process that serves this profile, and the caller decides what to do about it. Held by another, the error is a
// *BusyError.
func acquireLock(path string, shared bool) (*fileLock, error) {
	file, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store lock: %w", err)
	}
	err = errors.Join(file.Chmod(0o600), lockFile(file, shared))
	if errors.Is(err, errHeld) {
		err = &BusyError{Path: path, PID: recordedOwner(file)}
	}
	if err == nil && !shared {
		err = recordOwner(file, os.Getpid())
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &fileLock{file: file, shared: shared}, nil
}

// release gives the claim up. The owner is cleared first, so that a later reader's lock is not taken for ours. The lock
// is dropped and not only its descriptor closed: a child of this process that has not reached its exec yet still shares
// the descriptor, and the lock with it.
func (l *fileLock) release() error {
	var err error
	if !l.shared {
		err = l.file.Truncate(0)
	}
	return errors.Join(err, unlockFile(l.file), l.file.Close())
}

func recordOwner(file *os.File, pid int) error {
	if err := file.Truncate(0); err != nil {
		return fmt.Errorf("store lock: %w", err)
	}
	if _, err := file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("store lock: %w", err)
	}
	return nil
}

// recordedOwner reads the owner's pid for an error message, 0 when it cannot be known.
func recordedOwner(file *os.File) int {
	if !exclusivelyHeld(file) {
		return 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
