package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/gofrs/flock"
)

// LockOutcome is what came of trying to take a lock.
type LockOutcome int

const (
	// CouldNotOpen means the operating system refused the lock file: read-only filesystem, permissions, full disk, no
	// lock support. It is not contention and must not refuse a start.
	CouldNotOpen LockOutcome = iota
	// Acquired means this process holds the lock until it releases it or ends.
	Acquired
	// HeldByAnother means another open file description holds it.
	HeldByAnother
)

// String returns the words used in logs.
func (o LockOutcome) String() string {
	switch o {
	case Acquired:
		return "acquired"
	case HeldByAnother:
		return "held by another"
	default:
		return "could not open"
	}
}

// LockAttempt is the result of [TryLock].
type LockAttempt struct {
	Outcome LockOutcome
	// Lock is the handle when Outcome is Acquired, else nil. It is also this process's only proof that it holds the lock:
	// trying again would contend with itself.
	Lock *Lock
	// Err is the operating system's error when Outcome is CouldNotOpen, else nil.
	Err error
}

// Lock is an advisory exclusive lock on a file, held for the life of the process. Its file is never removed: removing a
// lock file lets two processes hold "the" lock on two files of one name.
type Lock struct {
	path string
	mu   sync.Mutex
	file *flock.Flock
}

// maxLockRetries bounds how often TryLock follows a lock file that is replaced under it.
const maxLockRetries = 8

// TryLock takes the exclusive lock on path without waiting, creating the file with mode 0600 if it is missing.
// Implements G-210 and the three outcomes of G-225.
func TryLock(path string) LockAttempt {
	for range maxLockRetries {
		file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|os.O_APPEND), flock.SetPermissions(0o600))
		locked, err := file.TryLock()
		if err != nil {
			return LockAttempt{Outcome: CouldNotOpen, Err: fmt.Errorf("lock %s: %w", path, err)}
		}
		if !locked {
			return LockAttempt{Outcome: HeldByAnother}
		}
		lock := &Lock{path: path, file: file}
		if lock.Intact() {
			return LockAttempt{Outcome: Acquired, Lock: lock}
		}
		// The file was replaced between open and lock: what we hold is no longer the lock others contend for.
		if err := lock.Release(); err != nil {
			return LockAttempt{Outcome: CouldNotOpen, Err: err}
		}
	}
	return LockAttempt{Outcome: CouldNotOpen, Err: fmt.Errorf("lock %s: the file is replaced again and again; stop whatever removes it", path)}
}

// Path returns the path of the lock file.
func (l *Lock) Path() string { return l.path }

// Intact reports whether the lock is held and its path still names the locked file. A holder that finds it false has
// lost exclusivity: somebody removed or replaced the file.
func (l *Lock) Intact() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return false
	}
	held, err := l.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(l.path)
	return err == nil && os.SameFile(held, named)
}

// WriteOwner replaces the file's content, by which others name the holder. Readers may catch it empty for an instant and
// must treat that as "holder not named".
func (l *Lock) WriteOwner(content []byte) error {
	if !l.Intact() {
		return fmt.Errorf("lock %s is no longer held by this process", l.path)
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("name the holder of a lock: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("name the holder of a lock: %w", err)
	}
	return nil
}

// Release gives the lock up. Releasing twice is harmless.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	if err := file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("release lock %s: %w", l.path, err)
	}
	return nil
}

// LockOwner reads who says to hold the lock at path. ok is false when the content is no pid record. It tells nothing
// about whether the lock is held: the content outlives the holder.
// Implements G-210.
func LockOwner(path string) (PIDRecord, bool) {
	data, err := readSmallFile(path)
	if err != nil {
		return PIDRecord{}, false
	}
	return ParsePIDRecord(data)
}

// livingHolder names who holds a lock that was found held. A holder that has just taken it may not have written its name
// yet; the name of its dead predecessor is not passed on.
func livingHolder(path string, observe func(pid int) Observation) *PIDRecord {
	holder, ok := LockOwner(path)
	if !ok || JudgeProcess(holder.Process(), observe(holder.PID)) == Dead {
		return nil
	}
	return &holder
}
