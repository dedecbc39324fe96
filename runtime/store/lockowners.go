package store

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// unnamedOwner is the pid that the kernel gives for an open-file-description lock.
const unnamedOwner = -1

// procLock is one lock that is held, as /proc/locks lists it.
type procLock struct {
	pid   int
	write bool
	file  fileID
	// start and end are the first and the last locked byte.
	start, end int64
}

// endOfFile is the end of a lock that has none.
const endOfFile = int64(^uint64(0) >> 1)

// parseLock reads a line of /proc/locks. It is false for waiters, for locks on nothing, and for lines of another
// form.
//
// Implements S-116.
func parseLock(line string) (procLock, bool) {
	f := strings.Fields(line)
	if len(f) < 8 || f[1] == "->" {
		return procLock{}, false
	}
	pid, err1 := strconv.Atoi(f[4])
	id, ok := parseFileID(f[5])
	start, err2 := strconv.ParseInt(f[6], 10, 64)
	end, err3 := strconv.ParseInt(f[7], 10, 64)
	if f[7] == "EOF" {
		end, err3 = endOfFile, nil
	}
	if !ok || err1 != nil || err2 != nil || err3 != nil || pid < unnamedOwner || start < 0 || end < start {
		return procLock{}, false
	}
	return procLock{pid: pid, write: f[3] == "WRITE", file: id, start: start, end: end}, true
}

// parseFileID reads MAJ:MIN:INO, the first two in hexadecimal.
func parseFileID(text string) (fileID, bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return fileID{}, false
	}
	major, err1 := strconv.ParseUint(parts[0], 16, 32)
	minor, err2 := strconv.ParseUint(parts[1], 16, 32)
	ino, err3 := strconv.ParseUint(parts[2], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || ino == 0 {
		return fileID{}, false
	}
	return fileID{dev: unix.Mkdev(uint32(major), uint32(minor)), ino: ino}, true
}

// parseLocks reads /proc/locks text.
func parseLocks(list io.Reader) ([]procLock, error) {
	var locks []procLock
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		if lock, ok := parseLock(lines.Text()); ok {
			locks = append(locks, lock)
		}
	}
	return locks, lines.Err()
}

// lockOwner is a process that keeps others from writing.
type lockOwner struct {
	pid  int
	kind string
	// file is the suffix of the locked file.
	file string
}

// lockOwners picks the write-class locks on the files, which are given by suffix.
//
// Implements S-116 and S-117.
func lockOwners(locks []procLock, files map[string]fileID) []lockOwner {
	var owners []lockOwner
	for _, lock := range locks {
		for _, suffix := range []string{"", "-shm"} {
			if id := files[suffix]; !lock.write || id.ino == 0 || id != lock.file {
				continue
			}
			for _, kind := range lockKinds(suffix, lock.start, lock.end) {
				owner := lockOwner{pid: lock.pid, kind: kind, file: suffix}
				if !slices.Contains(owners, owner) {
					owners = append(owners, owner)
				}
			}
		}
	}
	return owners
}

// lockRange is what SQLite locks in a file, from its first to its last byte.
type lockRange struct {
	first, last int64
	kind        string
}

// lockRanges are SQLite's locks: on the shared memory one byte each, on the database from the pending byte on.
//
// Implements S-117.
func lockRanges(suffix string) []lockRange {
	if suffix == "" {
		return []lockRange{
			{0x40000000, 0x40000000, "PENDING"},
			{0x40000001, 0x40000001, "RESERVED"},
			{sharedLockByte, sharedLockByte + 509, "SHARED range"},
		}
	}
	ranges := []lockRange{{120, 120, "WAL write"}, {121, 121, "checkpoint"}, {122, 122, "recover"}}
	for slot := range int64(5) {
		ranges = append(ranges, lockRange{123 + slot, 123 + slot, fmt.Sprintf("read slot %d", slot)})
	}
	return append(ranges, lockRange{deadManLockByte, deadManLockByte, "dead-man switch"})
}

// lockKinds names what a lock covers; nothing for bytes that SQLite does not lock.
func lockKinds(suffix string, start, end int64) []string {
	var kinds []string
	for _, r := range lockRanges(suffix) {
		if start <= r.last && r.first <= end {
			kinds = append(kinds, r.kind)
		}
	}
	return kinds
}

// describeOwner is `PID 7 (hermes chat) holds WAL write lock on state.db-shm`.
//
// Implements S-115.
func describeOwner(o lockOwner, database, command string) string {
	who := describeProcess(o.pid, command)
	if o.pid == unnamedOwner {
		who = "a process that the kernel does not name (open-file-description lock)"
	}
	return fmt.Sprintf("%s holds %s lock on %s%s", who, o.kind, database, o.file)
}

// warnOwners says once who holds the store's locks at the moment a budget has run out. The text goes to the log only
// and never into an error: words of a command line must not decide a Bucket (S-118).
//
// Implements S-115 and S-118.
func (s *Store) warnOwners() {
	owners, err := s.lockOwners()
	var held []string
	for _, o := range owners {
		held = append(held, describeOwner(o, filepath.Base(s.path), commandSummary(commandLine(o.pid))))
	}
	switch {
	case err != nil:
		held = []string{"who holds the lock cannot be told here: " + err.Error()}
	case len(held) == 0:
		held = []string{"nobody holds it any more: the holder let go just before the deadline"}
	}
	warn(s.log, "gave up waiting for the session store's lock", "holders", strings.Join(held, "; "))
}

// warn logs above info, where the log knows such a level; logr itself does not.
func warn(log logr.Logger, text string, pairs ...any) {
	slog.New(logr.ToSlogHandler(log)).Warn(text, pairs...)
}
