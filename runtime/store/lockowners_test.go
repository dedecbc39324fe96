package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func TestLockOwners(t *testing.T) {
	files := map[string]fileID{"": {dev: 0xfe00, ino: 7}, "-shm": {dev: 0xfe00, ino: 8}, "-wal": {dev: 0xfe00, ino: 9}}
	cases := []struct {
		id, line, want string
	}{
		{"T-220", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 120 120", "42 WAL write -shm"},
		{"T-223", "1: OFDLCK ADVISORY  WRITE -1 fe:00:7 1073741825 1073741825", "-1 RESERVED "},
		{"S-117 checkpoint", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 121 121", "42 checkpoint -shm"},
		{"S-117 recover", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 122 122", "42 recover -shm"},
		{"S-117 first read slot", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 123 123", "42 read slot 0 -shm"},
		{"S-117 last read slot", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 127 127", "42 read slot 4 -shm"},
		{"S-117 dead-man switch", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 128 128", "42 dead-man switch -shm"},
		{"S-117 several bytes", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 121 122", "42 checkpoint -shm,42 recover -shm"},
		{"S-117 pending", "1: POSIX  ADVISORY  WRITE 42 fe:00:7 1073741824 1073741824", "42 PENDING "},
		{"S-117 shared range", "1: POSIX  ADVISORY  WRITE 42 fe:00:7 1073741826 1073742335", "42 SHARED range "},
		{"S-117 all of the database", "1: POSIX  ADVISORY  WRITE 42 fe:00:7 0 EOF", "42 PENDING ,42 RESERVED ,42 SHARED range "},
		{"S-117 bytes that SQLite does not lock", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 0 119", ""},
		{"S-117 the log itself is never locked", "1: POSIX  ADVISORY  WRITE 42 fe:00:9 0 EOF", ""},
		{"S-116 a reader", "1: POSIX  ADVISORY  READ 42 fe:00:8 120 120", ""},
		{"S-116 a waiter", "1: -> POSIX  ADVISORY  WRITE 42 fe:00:8 120 120", ""},
		{"S-116 too few fields", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 120", ""},
		{"S-116 hexadecimal device", "1: POSIX  ADVISORY  WRITE 42 254:00:8 120 120", ""},
		{"S-116 another device", "1: POSIX  ADVISORY  WRITE 42 fe:01:8 120 120", ""},
		{"S-116 another file", "1: POSIX  ADVISORY  WRITE 42 fe:00:6 120 120", ""},
		{"S-116 backwards", "1: POSIX  ADVISORY  WRITE 42 fe:00:8 128 120", ""},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			locks, err := parseLocks(strings.NewReader("7: POSIX  ADVISORY  READ 1 fe:00:1 0 EOF\n" + c.line + "\n\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range lockOwners(locks, files) {
				got = append(got, fmt.Sprintf("%d %s %s", o.pid, o.kind, o.file))
			}
			if strings.Join(got, ",") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	twice := []procLock{{pid: 1, write: true, file: files[""], start: 0, end: endOfFile}}
	if got := lockOwners(slices.Concat(twice, twice), files); len(got) != 3 {
		t.Errorf("S-115: named twice: %+v", got)
	}
	if got := describeOwner(lockOwner{pid: unnamedOwner, kind: "RESERVED"}, "state.db", ""); !strings.Contains(got, "does not name") || strings.Contains(got, "-1") {
		t.Errorf("T-223: %q", got)
	}
}

// FuzzParseLock: S-116. No line makes it panic, and what it takes is a lock on something.
func FuzzParseLock(f *testing.F) {
	f.Add("1: POSIX  ADVISORY  WRITE 42 fe:00:8 120 120")
	f.Add("1: -> POSIX  ADVISORY  WRITE 42 fe:00:8 120 120")
	f.Add("2: FLOCK  ADVISORY  WRITE -1 fe:00:10217737 0 EOF")
	f.Add("3: LEASE  ACTIVE    READ  9 00:2a:18446744073709551615 9223372036854775807 EOF")
	f.Fuzz(func(t *testing.T, line string) {
		lock, ok := parseLock(line)
		if !ok {
			return
		}
		if lock.file.ino == 0 || lock.start < 0 || lock.end < lock.start || lock.pid < unnamedOwner || strings.Fields(line)[1] == "->" {
			t.Errorf("%q was taken for %+v", line, lock)
		}
		for _, suffix := range []string{"", "-shm"} {
			lockKinds(suffix, lock.start, lock.end)
		}
	})
}

// watchLog makes a store log into text with levels.
func watchLog(s *Store) *bytes.Buffer {
	var text bytes.Buffer
	s.log = logr.FromSlogHandler(slog.NewTextHandler(&text, nil))
	return &text
}

// impatient makes the budgets pass at once.
func impatient(t *testing.T, s *Store) {
	t.Helper()
	s.random = func() float64 { return 1 }
	s.sleep = func(context.Context, time.Duration) error { return nil }
	if _, err := s.writer.Exec("PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
}

// checkWarning: exactly one warning, which names the holder; nothing of it in the error.
func checkWarning(t *testing.T, err error, log *bytes.Buffer, says ...string) {
	t.Helper()
	if !errors.Is(err, ErrContended) || Classify(err) != BucketLocked || Classify(errors.New(err.Error())) != BucketLocked {
		t.Errorf("%v (%s by type)", err, Classify(err))
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings, want one:\n%s", n, log)
	}
	for _, text := range says {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the warning lacks %q:\n%s", text, log)
		}
	}
	for _, text := range []string{"PID", "corrupt", "malformed", filepath.Base(os.Args[0])} {
		if strings.Contains(err.Error(), text) {
			t.Errorf("S-118: the error %q has %q of the holder in it", err, text)
		}
	}
}

// TestHolderIsNamedInTheLogOnly: T-224, S-114, S-115, S-118, with another process whose command line would be taken for
// damage if it got into the error.
func TestHolderIsNamedInTheLogOnly(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	impatient(t, s)
	log := watchLog(s)
	c := startChild(t, "foreign", s.path, "UPDATE sessions SET title = 'corrupt: database disk image is malformed'")
	_, err := s.Append(ctx, "s", Message{Role: "user"})
	checkWarning(t, err, log, fmt.Sprintf("PID %d (%s ", c.cmd.Process.Pid, filepath.Base(os.Args[0])), "holds WAL write lock on state.db-shm")

	// Other writes give up without a word: the next one replaces them.
	log.Reset()
	if err := s.Touch(ctx, "s", "typing", "test"); !errors.Is(err, ErrContended) || log.Len() != 0 {
		t.Errorf("%v, logged %s", err, log)
	}

	// Bringing a store up has patience of its own.
	if _, err := s.writer.Exec("PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	c.letGo(t)
	runSQL(t, s, "DROP INDEX idx_sessions_parent")
	c = startChild(t, "foreign", s.path, "UPDATE sessions SET title = 'corrupt'")
	checkWarning(t, s.bringUp(ctx), log, fmt.Sprintf("PID %d (", c.cmd.Process.Pid))
	c.letGo(t)
	say(t, s, "s", "goes on")
}

// TestHolderLetGo: S-115.
func TestHolderLetGo(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	impatient(t, s)
	log := watchLog(s)
	foreign := foreignWriter(t, s.path)
	var slept time.Duration
	s.sleep = func(_ context.Context, d time.Duration) error {
		if slept += d; slept >= TranscriptBudget {
			return foreign.Rollback()
		}
		return nil
	}
	// The last attempt sees the lock, and then it is let go.
	err := s.patiently(context.Background(), TranscriptBudget, func() error { return coded{codeBusy, "database is locked"} })
	if !errors.Is(err, ErrContended) {
		t.Fatal(err)
	}
	s.warnOwners()
	checkWarning(t, err, log, "let go just before the deadline")
}
