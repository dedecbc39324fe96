package store

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
)

// The tests of this file are the ways in which people's stores were damaged, each with a real process. More are in
// lock_test.go (two long-lived processes), retired_test.go (two generations of the log at once), guard_test.go (a plain
// open), contention_test.go (a short busy timeout, a log without bounds) and delete_test.go.

// TestVisitorLeavesTheLogAlone: S-133. A short-lived program that opens the database, writes and closes it last of all
// its own handles does not take the log from under the store.
func TestVisitorLeavesTheLogAlone(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	say(t, s, "s", "before")
	before := s.guard.files
	for range 3 {
		startChild(t, "foreign", s.path, "UPDATE sessions SET title = 'visited'").letGo(t)
		for suffix, id := range before {
			if now := identify(s.path + suffix); now != id {
				t.Fatalf("state.db%s became another file: %+v, was %+v", suffix, now, id)
			}
		}
		say(t, s, "s", "during")
	}
	session, _, err := s.Session(ctx, "s")
	if err != nil || session.Title != "visited" || session.MessageCount != 4 {
		t.Errorf("%+v, %v", session, err)
	}
}

// TestVisitorOutlivesTheStore: closing the store while another program has the database open keeps the log, and opening
// it again goes on with that generation.
func TestVisitorOutlivesTheStore(t *testing.T) {
	ctx := context.Background()
	path := filled(t)
	c := startChild(t, "foreign", path, "UPDATE sessions SET title = 'visited'")
	s := open(t, path, testOptions(t))
	log := identify(path + "-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, testOptions(t))
	if now := identify(path + "-wal"); now != log || now.ino == 0 {
		t.Errorf("the log became another file: %+v, was %+v", now, log)
	}
	c.letGo(t)
	say(t, s, "s", "after")
	if session, _, err := s.Session(ctx, "s"); err != nil || session.Title != "visited" || session.MessageCount != 41 {
		t.Errorf("%+v, %v", session, err)
	}
}

// TestJournalModeComesBack: a file whose journal mode another program changed is in the declared one after the next open.
func TestJournalModeComesBack(t *testing.T) {
	path := filled(t)
	other, err := openDB(path, 1, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	var mode string
	err = other.QueryRow("PRAGMA journal_mode = DELETE").Scan(&mode)
	if err := errors.Join(err, other.Close()); err != nil || mode != "delete" {
		t.Fatalf("%s, %v", mode, err)
	}
	s := open(t, path, testOptions(t))
	if got := mustStats(t, s).JournalMode; got != "wal" {
		t.Errorf("journal mode %s", got)
	}
	if len(s.guard.files) != 3 {
		t.Errorf("S-130: the guard knows %v: it must know the log it is to watch", s.guard.files)
	}
}

// TestNamingTheFileReadsNothing: a command that merely names the database, as a path with a link or a backup with cp
// does, leaves every lock that keeps others out in place.
func TestNamingTheFileReadsNothing(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	if _, err := os.ReadFile(s.path); err != nil {
		t.Fatal(err)
	}
	if now, err := s.guard.readLocks(); err != nil || !now.main {
		t.Errorf("locks after the database was read: %+v, %v", now, err)
	}
	// So another program cannot take the database for its own and delete the log on closing it.
	startChild(t, "foreign", s.path, "UPDATE sessions SET title = 'visited'").letGo(t)
	if err := s.guard.checkFiles(); err != nil {
		t.Error(err)
	}
	say(t, s, "s", strings.Repeat("x", 100))
}
