package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
)

func filledStore(t *testing.T, sessions, messages int) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "state.db"), Options{Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range sessions {
		id := fmt.Sprintf("s%d", i)
		if _, _, err := s.EnsureSession(context.Background(), Session{ID: id, Source: "cli"}); err != nil {
			t.Fatal(err)
		}
		for j := range messages {
			if _, err := s.Append(context.Background(), id, Message{Role: "user", Content: fmt.Sprintf("%d %s", j, strings.Repeat("x", 500))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// TestSnapshotS133 holds what the log holds, is one private file, and the store's locks live on.
func TestSnapshotS133(t *testing.T) {
	s := filledStore(t, 3, 7)
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := s.Snapshot(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	got, err := Check(context.Background(), path)
	if err != nil || got != (Figures{SchemaVersion: SchemaVersion, Sessions: 3, Messages: 21}) {
		t.Errorf("%+v %v", got, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("beside the copy: %v", entries)
	}
	if err := s.guard.checkLocks(); err != nil {
		t.Error(err)
	}
	if err := s.Snapshot(context.Background(), path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an older one: %v", err)
	}
	if again, err := Check(context.Background(), path); err != nil || again != got {
		t.Errorf("the older one was touched: %+v %v", again, err)
	}
	copied, err := Open(context.Background(), path, Options{Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if err := copied.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotWhileWriting: turns go on, and each copy is of one moment: no message without its session's counter.
func TestSnapshotWhileWriting(t *testing.T) {
	s := filledStore(t, 1, 1)
	stop, dir := make(chan struct{}), t.TempDir()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Append(context.Background(), "s0", Message{Role: "user", Content: "more"}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	var last int64
	for i := range 8 {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := s.Snapshot(context.Background(), path); err != nil {
			t.Fatal(err)
		}
		got, err := Check(context.Background(), path)
		if err != nil || got.Messages < last {
			t.Fatalf("%+v after %d: %v", got, last, err)
		}
		last = got.Messages
		copied, err := Open(context.Background(), path, Options{Log: logr.Discard(), ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		session, _, err := copied.Session(context.Background(), "s0")
		if err != nil || session.MessageCount != got.Messages {
			t.Errorf("counter %d, rows %d: %v", session.MessageCount, got.Messages, err)
		}
		_ = copied.Close()
	}
	close(stop)
	wg.Wait()
}

// TestSnapshotRefuses: a store that is closed or not trusted gives no copy, and nothing half is left.
func TestSnapshotRefuses(t *testing.T) {
	s, dir := filledStore(t, 1, 200), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Snapshot(ctx, filepath.Join(dir, "a")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	damage := error(ErrReplaced)
	s.damage.Store(&damage)
	if err := s.Snapshot(context.Background(), filepath.Join(dir, "a")); !errors.Is(err, ErrReplaced) {
		t.Errorf("quarantined: %v", err)
	}
	s.damage.Store(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Snapshot(context.Background(), filepath.Join(dir, "a")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

// TestCheck tells sound, damaged, foreign, newer and incomplete files apart, and writes nothing.
func TestCheck(t *testing.T) {
	s := filledStore(t, 2, 200)
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		want   error
	}{
		"sound": {func(*testing.T, string) {}, nil},
		"page damaged": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := len(data) / 2; i < len(data)/2+8192; i++ {
				data[i] ^= 0x5a
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrCorrupt},
		"cut": {func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, info.Size()/2/4096*4096); err != nil {
				t.Fatal(err)
			}
		}, ErrCorrupt},
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrCorrupt},
		"empty": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}, ErrSchema},
		"newer": {func(t *testing.T, path string) { execIn(t, path, "UPDATE schema_version SET version = 31") }, ErrSchema},
		"with a log": {func(t *testing.T, path string) {
			if err := os.WriteFile(path+"-wal", []byte("frames"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, fs.ErrExist},
		"gone": {func(_ *testing.T, path string) { _ = os.Remove(path) }, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "copy.db")
			if err := s.Snapshot(context.Background(), path); err != nil {
				t.Fatal(err)
			}
			c.change(t, path)
			before, _ := os.ReadDir(filepath.Dir(path))
			if _, err := Check(context.Background(), path); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if after, _ := os.ReadDir(filepath.Dir(path)); len(after) != len(before) {
				t.Errorf("files %v, before %v", after, before)
			}
		})
	}
}

func execIn(t *testing.T, path, statement string) {
	t.Helper()
	pool, err := openDB(path, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// TestClaim keeps an opener out as long as it is held.
func TestClaim(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	release, err := Claim(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{Log: logr.Discard()}); !errors.Is(err, ErrStoreBusy) {
		t.Errorf("open while claimed: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), path, Options{Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(path); !errors.Is(err, ErrStoreBusy) {
		t.Errorf("claim while open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshotDiskFull: SQLite's own word for a full disk becomes the system's.
func TestSnapshotDiskFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.db")
	pool, err := openDB(path, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec("PRAGMA max_page_count = 2; CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	_, full := pool.Exec("INSERT INTO t VALUES (zeroblob(100000))")
	if err := snapshotError(context.Background(), "from", path, full); full == nil || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v became %v", full, err)
	}
}
