package store

import (
	"errors"
	"fmt"
	"os"
)

// Causes that callers tell apart with errors.Is. Classify turns any error of this package into a Bucket.
var (
	// ErrTurnLease means another holder has the conversation's turn.
	ErrTurnLease = errors.New("another turn holds this conversation")
	// ErrCompressionClosed means the session was closed by compression; write to its successor.
	ErrCompressionClosed = errors.New("session was closed by compression")
	// ErrCompression means the session is being compressed right now.
	ErrCompression = errors.New("session is being compressed")
	// ErrReplaced means the file at the store's path is not the one that was opened.
	ErrReplaced = errors.New("state.db was replaced underneath this process")
	// ErrDeletedWAL means a process holds an unlinked write-ahead log of this store. It is also an ErrReplaced, so
	// whoever diverts writes to a spool for that cause does so for this one (rule S-131).
	ErrDeletedWAL = fmt.Errorf("%s: %w", detailDeletedWAL, ErrReplaced)
	// ErrCorrupt means SQLite reported structural damage. The file is left exactly as it is.
	ErrCorrupt = errors.New("session store is damaged")

	// ErrContended means a write or an open ran out of patience while another connection held SQLite's lock.
	ErrContended = errors.New("session store stayed locked")
	// ErrLocksLost means something in this process closed a descriptor of the store's files and thereby dropped
	// SQLite's locks; nothing more is written through this handle (rule S-133).
	ErrLocksLost = errors.New("locks on the session store were dropped inside this process")

	// ErrNoSession means the session id (or its parent) is not in the store.
	ErrNoSession = errors.New("no such session")
	// ErrTitleTaken means another session already has that title.
	ErrTitleTaken = errors.New("title is already used by another session")
	// ErrBadTitle means that a title cannot be used.
	ErrBadTitle = errors.New("title cannot be used")
	// ErrAmbiguousSession is what every AmbiguousError matches.
	ErrAmbiguousSession = errors.New("several sessions fit")
	// ErrReadOnly means the store was opened for reading only.
	ErrReadOnly = errors.New("session store is open for reading only")
	// ErrClosed means the store was closed.
	ErrClosed = errors.New("session store is closed")
)

// BusyError says that another process owns the store. It matches ErrStoreBusy.
type BusyError struct {
	// Path is the database file.
	Path string
	// PID is the owner as it recorded itself in the lock file, 0 when unknown: readers share the lock and record
	// nothing, and a process may be caught between locking and recording.
	PID int
}

// ErrStoreBusy is what every BusyError matches.
var ErrStoreBusy = errors.New("session store is in use")

func (e *BusyError) Error() string {
	owner := "another process"
	if e.PID == os.Getpid() {
		return e.Path + " is still attached to this process, which stopped writing to it or closes it just now: if that lasts, " +
			"restart the process and run hermes doctor"
	}
	if e.PID != 0 {
		owner = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop it, or go through the gateway that serves this profile", e.Path, owner)
}

// Is makes errors.Is(err, ErrStoreBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrStoreBusy }

// SchemaError says that the file cannot be used at SchemaVersion as it is. It matches ErrSchema.
type SchemaError struct {
	Path string
	// Version is the file's schema version, 0 when it records none.
	Version int64
	// Reason is one clause that completes "Path: ".
	Reason string
}

// ErrSchema is what every SchemaError matches.
var ErrSchema = errors.New("session store has an unusable schema")

func (e *SchemaError) Error() string { return e.Path + ": " + e.Reason }

// Is makes errors.Is(err, ErrSchema) true.
func (e *SchemaError) Is(target error) bool { return target == ErrSchema }
