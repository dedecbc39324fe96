package store

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"
)

// coded is an error with an SQLite result code, as the driver makes them.
type coded struct {
	code int
	text string
}

func (e coded) Error() string { return e.text }
func (e coded) Code() int     { return e.code }

func TestClassify(t *testing.T) {
	const ioErr = 10
	cases := []struct {
		id   string
		err  error
		want Bucket
	}{
		{"S-120 none", nil, BucketNone},
		{"S-120 type turn lease", fmt.Errorf("x: %w", ErrTurnLease), BucketTurnLease},
		{"S-120 type compression closed", fmt.Errorf("x: %w", ErrCompressionClosed), BucketCompressionClosed},
		{"S-120 type compression", fmt.Errorf("x: %w", ErrCompression), BucketCompression},
		{"S-131 deleted wal is also replaced", fmt.Errorf("x: %w", ErrDeletedWAL), BucketDeletedWAL},
		{"S-120 type replaced", fmt.Errorf("x: %w", ErrReplaced), BucketReplaced},
		{"S-120 type corrupt", fmt.Errorf("%w: database is locked", ErrCorrupt), BucketCorrupt},
		{"S-120 type before code", errors.Join(ErrTurnLease, coded{codeBusy, "database is locked"}), BucketTurnLease},
		{"S-110 patience ran out", fmt.Errorf("%w for 1m", ErrContended), BucketLocked},
		{"busy store", &BusyError{Path: "p", PID: 1}, BucketLocked},
		{"S-133 locks lost", ErrLocksLost, BucketReplaced},
		{"caller's words", fmt.Errorf("session %q: %w", "database is locked", ErrNoSession), BucketUnknown},
		{"S-120 FTS by code", coded{codeCorruptVTab, "database disk image is malformed"}, BucketFTSIndex},
		{"S-120 FTS by name", coded{codeCorrupt, "messages_fts: database disk image is malformed"}, BucketFTSIndex},
		{"S-120 FTS by text", errors.New("fts5: corruption found reading blob 7"), BucketFTSIndex},
		{"T-225", coded{codeBusy, "vtable constructor failed: messages_fts"}, BucketLocked},
		{"T-225 malformed text", coded{codeBusy, "messages_fts: malformed"}, BucketLocked},
		{"S-112 busy extended", coded{codeBusy | 2<<8, "snapshot"}, BucketLocked},
		{"S-112 locked", coded{codeLocked, "table is in use"}, BucketLocked},
		{"S-112 text without code", errors.New("database is locked"), BucketLocked},
		{"S-112 text with another code", coded{1, "table locked_items has no column busy"}, BucketUnknown},
		{"S-120 corrupt by code", coded{codeCorrupt, ""}, BucketCorrupt},
		{"S-120 not a database by code", coded{codeNotADB, ""}, BucketCorrupt},
		{"S-120 phrase turn lease", errors.New("lost Turn Lease"), BucketTurnLease},
		{"S-120 phrase closed", errors.New("session was closed by compression"), BucketCompressionClosed},
		{"S-120 phrase compressed", errors.New("session is being compressed"), BucketCompression},
		{"S-120 phrase compression lease", errors.New("compression lease held"), BucketCompression},
		{"T-227", errors.New("a process holds a deleted state.db-wal or state.db-shm"), BucketDeletedWAL},
		{"S-120 phrase replaced", errors.New("state.db was replaced underneath"), BucketReplaced},
		{"S-120 corrupt before disk", coded{ioErr, "disk I/O error: database disk image is malformed"}, BucketCorrupt},
		{"S-120 disk full", coded{codeFull, "database or disk is full"}, BucketDisk},
		{"S-120 read-only", coded{codeReadOnly | 4<<8, "attempt to write a readonly database"}, BucketDisk},
		{"S-120 errno", &os.PathError{Op: "write", Path: "p", Err: syscall.ENOSPC}, BucketDisk},
		{"S-120 phrase disk", errors.New("write: no space left on device"), BucketDisk},
		{"S-120 unknown", errors.New("boom"), BucketUnknown},
		{"S-120 other code", coded{ioErr, "disk I/O error"}, BucketUnknown},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			if got := Classify(c.err); got != c.want {
				t.Errorf("Classify(%v) = %q, want %q", c.err, got, c.want)
			}
		})
	}
	if !errors.Is(ErrDeletedWAL, ErrReplaced) {
		t.Error("S-131: a deleted log must also be a replaced store")
	}
}

func TestRetryDelay(t *testing.T) {
	const ms = time.Millisecond
	cases := []struct {
		id            string
		spent, budget time.Duration
		random        float64
		want          time.Duration
		ok            bool
	}{
		{"S-111 first", 0, RoutineBudget, 0, 20 * ms, true},
		{"S-111 first high", 0, RoutineBudget, 1, 150 * ms, true},
		{"S-111 before 2s", 1999 * ms, RoutineBudget, 0, 20 * ms, true},
		{"S-111 from 2s", 2 * time.Second, RoutineBudget, 0, 250 * ms, true},
		{"S-111 from 2s high", 2 * time.Second, TranscriptBudget, 1, time.Second, true},
		{"S-110 never overshoots", 19900 * ms, RoutineBudget, 1, 100 * ms, true},
		{"S-110 spent", RoutineBudget, RoutineBudget, 0, 0, false},
		{"S-110 activity", 450 * ms, ActivityBudget, 1, 50 * ms, true},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			got, ok := retryDelay(c.spent, c.budget, c.random)
			if got != c.want || ok != c.ok {
				t.Errorf("got %s %v, want %s %v", got, ok, c.want, c.ok)
			}
		})
	}
	if RoutineBudget != 20*time.Second || TranscriptBudget != 60*time.Second || ActivityBudget != 500*ms ||
		OpenBudget != 20*time.Second || ReadBudget != 5*time.Second || engineTimeout != time.Second {
		t.Error("S-110, S-113: a budget changed")
	}
	if engineWait(ActivityBudget) != ActivityBudget || engineWait(RoutineBudget) != engineTimeout {
		t.Error("S-110: SQLite waits longer than the budget")
	}
}

// TestBucketOrder: S-120. An error with two causes belongs to the earlier one, whichever comes first in it.
func TestBucketOrder(t *testing.T) {
	lock := coded{codeBusy, "x"}
	full := coded{codeFull, "y"}
	order := []struct {
		err    error
		bucket Bucket
	}{
		{ErrTurnLease, BucketTurnLease}, {ErrCompressionClosed, BucketCompressionClosed}, {ErrCompression, BucketCompression},
		{&RetiredError{}, BucketDeletedWAL}, {ErrReplaced, BucketReplaced}, {ErrCorrupt, BucketCorrupt},
		{errors.New("fts5: corruption"), BucketFTSIndex},
		{lock, BucketLocked},
	}
	for i, first := range order {
		for _, second := range order[i+1:] {
			if second.err == error(lock) && first.bucket == BucketFTSIndex {
				continue // S-112: a lock code is never damage, whatever the text says
			}
			for _, err := range []error{errors.Join(first.err, second.err), errors.Join(second.err, first.err)} {
				if got := Classify(err); got != first.bucket {
					t.Errorf("S-120: %q is %s, want %s", err, got, first.bucket)
				}
			}
		}
	}
	texts := []struct {
		text   string
		bucket Bucket
	}{
		{"turn lease", BucketTurnLease}, {"closed by compression", BucketCompressionClosed}, {"being compressed", BucketCompression},
		{"deleted state.db-shm", BucketDeletedWAL}, {"was replaced underneath", BucketReplaced}, {"disk image is malformed", BucketCorrupt},
		{"database is locked", BucketLocked}, {"no space left", BucketDisk},
	}
	for i, first := range texts {
		for _, second := range texts[i+1:] {
			if got := Classify(errors.New(second.text + " " + first.text)); got != first.bucket {
				t.Errorf("S-120: %q and %q is %s, want %s", first.text, second.text, got, first.bucket)
			}
		}
	}
	if got := Classify(errors.Join(full, errors.New("database disk image is malformed"))); got != BucketCorrupt {
		t.Errorf("S-120: damage before disk: %s", got)
	}
}
