package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestSecondProcessIsRefused(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	holder := startChild(t, "hold", path)
	before, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		_, err := Open(ctx, path, Options{ReadOnly: readOnly})
		var busy *BusyError
		if !errors.Is(err, ErrStoreBusy) || !errors.As(err, &busy) || busy.PID != holder.cmd.Process.Pid {
			t.Errorf("read-only %v: %v, want busy with pid %d", readOnly, err, holder.cmd.Process.Pid)
		}
		if err != nil && !strings.Contains(err.Error(), "process "+strconv.Itoa(holder.cmd.Process.Pid)) {
			t.Errorf("message %q does not name the owner", err)
		}
	}
	after, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(after) != len(before) {
		t.Errorf("a refused open left files: %v, %v", after, err)
	}
	if err := holder.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := holder.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, testOptions(t))
	if _, ok, err := s.Session(ctx, "crash"); !ok || err != nil {
		t.Errorf("the holder's session: %v, %v", ok, err)
	}
}

// TestOneProcessOneHandle: the lock belongs to the handle, not to the process.
func TestOneProcessOneHandle(t *testing.T) {
	path := storePath(t)
	s := open(t, path, testOptions(t))
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrStoreBusy) {
		t.Errorf("second handle: %v, want ErrStoreBusy", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, testOptions(t))
}

func TestReadersShare(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	if _, err := Open(ctx, path, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a store that is not there: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	w := open(t, path, testOptions(t))
	ensure(t, w, "s")
	say(t, w, "s", "kept")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	options := testOptions(t)
	options.ReadOnly = true
	r1, r2 := open(t, path, options), open(t, path, options)
	for _, r := range []*Store{r1, r2} {
		if got, err := r.Messages(ctx, "s"); err != nil || len(got) != 1 || got[0].Content != "kept" {
			t.Errorf("read %v, %v", got, err)
		}
		if _, err := r.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("write through a reader: %v", err)
		}
	}
	var busy *BusyError
	if _, err := Open(ctx, path, Options{}); !errors.As(err, &busy) || busy.PID != 0 {
		t.Errorf("writer beside readers: %v, want busy without a pid", err)
	}
}

// TestPrivateFiles: S-105, with the widest and the narrowest umask, for new and existing files.
func TestPrivateFiles(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		t.Run(strconv.FormatInt(int64(mask), 8), func(t *testing.T) {
			path := storePath(t)
			// Restored at once after each step: the umask is the process's.
			masked := func(step func()) {
				old := syscall.Umask(mask)
				defer syscall.Umask(old)
				step()
			}
			check := func() {
				t.Helper()
				for _, suffix := range []string{"", "-wal", "-shm", lockSuffix} {
					info, err := os.Stat(path + suffix)
					if err != nil || info.Mode().Perm() != 0o600 {
						t.Errorf("%s: %v, %v", suffix, info.Mode(), err)
					}
				}
			}
			var s *Store
			masked(func() { s = open(t, path, testOptions(t)); ensure(t, s, "s") })
			check()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			masked(func() { s = open(t, path, testOptions(t)); ensure(t, s, "s2") })
			check()
		})
	}
}

func TestOpenRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		path    string
		options Options
		says    string
	}{
		"no path":      {"", Options{}, "no path"},
		"journal mode": {filepath.Join(dir, "a.db"), Options{JournalMode: "OFF"}, "use WAL"},
		"synchronous":  {filepath.Join(dir, "b.db"), Options{Synchronous: "OFF"}, "use NORMAL or FULL"},
		"no directory": {filepath.Join(dir, "no", "c.db"), Options{}, "no such file"},
		"a directory":  {dir, Options{}, "is not a regular file"},
	} {
		if _, err := Open(context.Background(), c.path, c.options); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestOddPathsAndModes(t *testing.T) {
	for _, mode := range []string{"WAL", "DELETE", "TRUNCATE"} {
		path := filepath.Join(t.TempDir(), "wéird ?mode=ro#%20&x.db")
		options := testOptions(t)
		options.JournalMode = mode
		s := open(t, path, options)
		ensure(t, s, "s")
		say(t, s, "s", "x")
		if !strings.EqualFold(mustStats(t, s).JournalMode, mode) {
			t.Errorf("mode %s, want %s", mustStats(t, s).JournalMode, mode)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 && mode != "WAL" {
			t.Errorf("%s: database not at its path: %v", mode, err)
		}
	}
}

func mustStats(t *testing.T, s *Store) Stats {
	t.Helper()
	stats, err := s.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

func TestClosedStore(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, readErr := s.Messages(ctx, "s")
	_, writeErr := s.Append(ctx, "s", Message{Role: "user"})
	if !errors.Is(readErr, ErrClosed) || !errors.Is(writeErr, ErrClosed) {
		t.Errorf("read %v, write %v", readErr, writeErr)
	}
	if _, err := os.Stat(s.path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a clean close left the log: %v", err)
	}
}
