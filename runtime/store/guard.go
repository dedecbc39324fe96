package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"k8s.io/utils/clock"
)

// Byte offsets of SQLite's locks: the shared range of the database file and, in -shm, the byte a process holds for
// as long as it has the write-ahead log open (rule S-117).
const (
	sharedLockByte  = 0x40000002
	deadManLockByte = 128
)

// fileID is what a path names; the zero value means unknown (rule S-134).
type fileID struct{ dev, ino uint64 }

// heldLocks says which of SQLite's long-lived locks this process holds.
type heldLocks struct{ main, shm bool }

// guard knows what the store's paths named and which locks SQLite held when the store was opened. From then on
// neither may change while the store is open. The zero value accepts everything.
type guard struct {
	path  string
	files map[string]fileID // by suffix; only those that existed
	locks heldLocks         // all false where the kernel does not list locks
}

func newGuard(path string) guard {
	g := guard{path: path, files: map[string]fileID{}}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if id := identify(path + suffix); id.ino != 0 {
			g.files[suffix] = id
		}
	}
	g.locks, _ = g.readLocks()
	return g
}

// checkFiles is an error when a path of the store no longer names the file that SQLite has open: ErrReplaced for
// the database, else a RetiredError. It costs one stat a file and opens nothing; only when something moved does it
// look who holds what.
//
// Implements S-130 and S-134.
func (g guard) checkFiles() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		opened, known := g.files[suffix]
		if now, told := whatIs(g.path + suffix); !known || !told || now == opened {
			continue
		}
		if suffix == "" {
			return fmt.Errorf("%s: %w: stop every program that uses it, then restore a backup or start again", g.path, ErrReplaced)
		}
		holders, _ := NewInventory(clock.RealClock{}).Retired(g.path) // unknown holders are said to be unknown
		return &RetiredError{Path: g.path, Holders: holders}
	}
	return nil
}

// checkLocks is ErrLocksLost when the kernel no longer lists a lock that SQLite held at open and never gives up
// before it closes: something in this process opened and closed the file.
//
// Implements S-133.
func (g guard) checkLocks() error {
	if g.locks == (heldLocks{}) {
		return nil
	}
	// The kernel's list is not read atomically, so a lock may be missed once; it is lost when missed twice.
	for range 2 {
		now, err := g.readLocks()
		if err != nil || (now.main || !g.locks.main) && (now.shm || !g.locks.shm) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w: code in this process opened and closed it; restart the process", g.path, ErrLocksLost)
}

func (g guard) readLocks() (heldLocks, error) {
	locks, err := readLockList()
	if err != nil {
		return heldLocks{}, err
	}
	return findLocks(locks, os.Getpid(), g.files[""], g.files["-shm"]), nil
}

// findLocks says which long-lived locks the process holds. An open-file-description lock names no owner; the store's
// lock file keeps other processes off the database, so it is ours.
func findLocks(locks []procLock, pid int, main, shm fileID) (held heldLocks) {
	covers := func(lock procLock, id fileID, at int64) bool {
		// A lock without an end is not SQLite's, whose ranges are finite.
		return id == lock.file && lock.start <= at && at <= lock.end && lock.end != endOfFile
	}
	for _, lock := range locks {
		if lock.pid == pid || lock.pid == unnamedOwner {
			held.main = held.main || covers(lock, main, sharedLockByte)
			held.shm = held.shm || covers(lock, shm, deadManLockByte)
		}
	}
	return held
}

// whatIs says what a path names: the zero value for nothing, and false when that cannot be told.
//
// Implements S-134.
func whatIs(path string) (now fileID, told bool) {
	if now = identify(path); now.ino != 0 {
		return now, true
	}
	_, err := os.Lstat(path)
	return fileID{}, errors.Is(err, fs.ErrNotExist)
}

// identify stats a path; it never opens it.
func identify(path string) fileID {
	info, err := os.Stat(path)
	if err != nil {
		return fileID{}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	return fileID{dev: uint64(stat.Dev), ino: stat.Ino}
}
