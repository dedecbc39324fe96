package store

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// release closes what a store that lost its files keeps attached for the rest of the process.
func release(t *testing.T, s *Store) {
	t.Helper()
	t.Cleanup(func() {
		if err := errors.Join(s.readers.Close(), s.writer.Close(), s.lock.release()); err != nil {
			t.Error(err)
		}
	})
}

// touchPlainly opens and closes a file beside SQLite, which rule S-133 forbids.
func touchPlainly(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestGuardCatchesAPlainOpen: T-235.
func TestGuardCatchesAPlainOpen(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	if s.guard.locks != (heldLocks{main: true, shm: true}) {
		t.Fatalf("locks at open: %+v; the guard sees nothing here", s.guard.locks)
	}
	for s.writes%checkpointEvery != checkpointEvery-2 {
		say(t, s, "s", "x")
	}
	// The database file itself is under open-file-description locks, which survive.
	touchPlainly(t, s.path)
	if err := s.guard.checkLocks(); err != nil {
		t.Errorf("after a plain open of the database: %v", err)
	}
	touchPlainly(t, s.path+"-shm")
	if err := s.guard.checkLocks(); !errors.Is(err, ErrLocksLost) {
		t.Fatalf("after a plain open of the shared memory: %v, want ErrLocksLost", err)
	}
	say(t, s, "s", "not yet noticed")
	say(t, s, "s", "noticed after this")
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrLocksLost) {
		t.Errorf("write without locks: %v, want ErrLocksLost", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, s.path, Options{}); !errors.Is(err, ErrStoreBusy) {
		t.Errorf("opened again beside the detached handle: %v", err)
	}
	release(t, s)
}

// TestStoreNeverDropsItsLocks: S-133. Every operation leaves SQLite's locks where they were.
func TestStoreNeverDropsItsLocks(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	_, _, ensureErr := s.EnsureSession(ctx, Session{ID: "s", Source: "cli", SessionKey: "k"})
	_, appendErr := s.Append(ctx, "s", Message{Role: "user"})
	_, busyErr := Open(ctx, s.path, Options{})
	if !errors.Is(busyErr, ErrStoreBusy) {
		t.Errorf("second open: %v", busyErr)
	}
	_, _, keyErr := s.SessionByKey(ctx, "k")
	_, listErr := s.Sessions(ctx, ListOptions{})
	_, messagesErr := s.Messages(ctx, "s")
	_, statsErr := s.Stats(ctx)
	err := errors.Join(ensureErr, appendErr, keyErr, listErr, messagesErr, statsErr,
		s.AddUsage(ctx, "s", Usage{}), s.SetTitle(ctx, "s", "t", TitleUser), s.SetSystemPrompt(ctx, "s", "p"),
		s.Touch(ctx, "s", "a", "b"), s.EndSession(ctx, "s", "idle"))
	if err != nil {
		t.Fatal(err)
	}
	if now, err := s.guard.readLocks(); err != nil || now != (heldLocks{main: true, shm: true}) {
		t.Errorf("locks held: %+v, %v", now, err)
	}
}

// TestMovedFilesStopWrites: S-131, S-134.
func TestMovedFilesStopWrites(t *testing.T) {
	ctx := context.Background()
	for suffix, want := range map[string]error{"": ErrReplaced, "-wal": ErrDeletedWAL, "-shm": ErrDeletedWAL} {
		t.Run("state.db"+suffix, func(t *testing.T) {
			s := open(t, storePath(t), testOptions(t))
			ensure(t, s, "s")
			if err := os.Rename(s.path+suffix, s.path+".moved"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Append(ctx, "s", Message{Role: "user"})
			if !errors.Is(err, want) || !errors.Is(err, ErrReplaced) {
				t.Errorf("got %v, want %v", err, want)
			}
			if _, err := os.Stat(s.path + suffix); err == nil {
				t.Error("a new file was made in its place")
			}
			if err := os.Rename(s.path+".moved", s.path+suffix); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, want) {
				t.Errorf("write after the file came back: %v, want the first cause", err)
			}
			if _, err := s.Messages(ctx, "s"); !errors.Is(err, want) {
				t.Errorf("read after the file came back: %v, want the first cause", err)
			}
			release(t, s)
		})
	}
}

func TestFindLocks(t *testing.T) {
	main, shm := fileID{dev: 0xfe00, ino: 7}, fileID{dev: 0xfe00, ino: 8}
	const (
		mainLock = "1: POSIX  ADVISORY  READ 42 fe:00:7 1073741826 1073742335\n"
		shmLock  = "2: POSIX  ADVISORY  READ 42 fe:00:8 128 128\n"
	)
	cases := []struct {
		id, list string
		want     heldLocks
	}{
		{"T-235 both held", mainLock + shmLock, heldLocks{true, true}},
		{"T-235 database lock dropped", shmLock, heldLocks{false, true}},
		{"T-235 shared memory lock dropped", mainLock, heldLocks{true, false}},
		{"T-235 both dropped", "", heldLocks{}},
		{"T-223 open-file-description lock", strings.Replace(mainLock, "POSIX  ADVISORY  READ 42", "OFDLCK ADVISORY  READ -1", 1), heldLocks{true, false}},
		{"S-116 another process", strings.Replace(mainLock, " 42 ", " 43 ", 1), heldLocks{}},
		{"S-116 a waiter", strings.Replace(mainLock, "1: POSIX", "1: -> POSIX", 1), heldLocks{}},
		{"S-116 hexadecimal device", strings.Replace(mainLock, "fe:00:7", "254:0:7", 1), heldLocks{}},
		{"S-116 decimal inode", strings.Replace(mainLock, "fe:00:7", "fe:00:0x7", 1), heldLocks{}},
		{"S-116 too few fields", "1: POSIX ADVISORY READ 42 fe:00:7 1073741826\n", heldLocks{}},
		{"S-116 EOF", "1: POSIX ADVISORY READ 42 fe:00:7 0 EOF\n", heldLocks{}},
		{"S-117 pending byte only", "1: POSIX ADVISORY WRITE 42 fe:00:7 1073741824 1073741824\n", heldLocks{}},
		{"S-117 read slot only", "1: POSIX ADVISORY READ 42 fe:00:8 124 124\n", heldLocks{}},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			locks, err := parseLocks(strings.NewReader(c.list))
			if got := findLocks(locks, 42, main, shm); err != nil || got != c.want {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}
