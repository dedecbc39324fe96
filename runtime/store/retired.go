package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// unlinked is a descriptor of some process whose file's name the kernel marks as deleted.
type unlinked struct {
	pid int
	descriptor
}

// retiredGenerations picks from the unlinked descriptors of a machine those that hold a log or a shared memory that
// the store at path once had: the mark alone proves nothing, so the file must not be what its name names now, with
// or without the mark. names says what a path names. It is pure.
//
// Implements S-130.
func retiredGenerations(found []unlinked, path string, names func(path string) fileID) []Holder {
	byPID := map[int]*Holder{}
	for _, u := range found {
		named, _ := strings.CutSuffix(u.target, deletedMark)
		if named != path+"-wal" && named != path+"-shm" {
			continue
		}
		if u.id.ino == 0 || u.id == names(named) || u.id == names(u.target) {
			continue
		}
		h := byPID[u.pid]
		if h == nil {
			h = &Holder{PID: u.pid}
			byPID[u.pid] = h
		}
		if file := filepath.Base(u.target); !slices.Contains(h.Files, file) {
			h.Files = append(h.Files, file)
			slices.Sort(h.Files)
		}
	}
	holders := make([]Holder, 0, len(byPID))
	for _, h := range byPID {
		holders = append(holders, *h)
	}
	slices.SortFunc(holders, func(a, b Holder) int { return a.PID - b.PID })
	return holders
}

// inventoryAge is for how long what an Inventory saw stands for the machine.
const inventoryAge = time.Second

// Inventory lists the unlinked logs that processes of this machine hold. Looking costs some milliseconds, so stores
// of one process share one: a thousand opens in a second look once. What was unlinked within that second is found by
// the next open and, when it was the store's own, by its next write. It is safe for concurrent use.
type Inventory struct {
	clock clock.PassiveClock
	scan  func() ([]unlinked, error)

	mu    sync.Mutex
	at    time.Time
	found []unlinked
	err   error
}

// NewInventory returns an inventory that has not looked yet.
func NewInventory(c clock.PassiveClock) *Inventory { return &Inventory{clock: c, scan: scanUnlinked} }

// Retired lists the processes, this one included, that hold a deleted log or shared memory of the store at path. The
// error says that nothing could be listed. Only Linux shows them; elsewhere the list is empty.
//
// Implements S-130 and S-146.
func (i *Inventory) Retired(path string) ([]Holder, error) {
	path, err := resolvePath(path)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	if now := i.clock.Now(); i.at.IsZero() || now.Sub(i.at) >= inventoryAge || now.Before(i.at) {
		i.found, i.err = i.scan()
		i.at = i.clock.Now()
	}
	found, err := i.found, i.err
	i.mu.Unlock()
	holders := retiredGenerations(found, path, identify)
	for n := range holders {
		holders[n].Command = commandSummary(commandLine(holders[n].PID))
	}
	return holders, err
}

// FirstSteps is what to do when ErrDeletedWAL stopped a store, wherever that is told.
//
// Implements S-131.
const FirstSteps = "quit every Hermes process of this profile, then run hermes doctor; do not delete the log, and do not " +
	"run hermes doctor --fix meanwhile. Guide: " + RecoveryGuide

// RetiredError says that a process holds a deleted generation of a store's log. It matches ErrDeletedWAL and
// ErrReplaced. Its text is for the person first, then for the operator; it names processes by number only, because
// words of a command line must not decide a Bucket (S-118).
//
// Implements S-131.
type RetiredError struct {
	Path string
	// Holders are the processes; empty when they could not be told.
	Holders []Holder
	// Opening is true when the store was not opened, false when an open one stopped writing.
	Opening bool
}

func (e *RetiredError) Error() string {
	what := "writing to " + e.Path + " was stopped to protect it"
	if e.Opening {
		what = e.Path + " was not opened to protect it"
	}
	who := make([]string, len(e.Holders))
	for i, h := range e.Holders {
		who[i] = fmt.Sprintf("PID %d has %s", h.PID, strings.Join(h.Files, " and "))
	}
	if len(who) == 0 {
		who = []string{"its name is gone or names another file now"}
	}
	return fmt.Sprintf("%s; nothing that was saved is lost: %s (%s: %s)", what, FirstSteps, detailDeletedWAL, strings.Join(who, ", "))
}

// Unwrap gives ErrDeletedWAL, which is also an ErrReplaced.
func (e *RetiredError) Unwrap() error { return ErrDeletedWAL }

// detailDeletedWAL is the phrase by which this cause is recognised when only its text is left.
const detailDeletedWAL = "a process holds a deleted state.db-wal or state.db-shm"
