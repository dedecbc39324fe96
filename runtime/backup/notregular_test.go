package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/internal/regular"
)

// inTime is what f returns, unless it waits.
func inTime(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("it waits")
		return nil
	}
}

// TestPipes in place of files are refused by name, and nothing waits for them: not a list, not a restore, not a backup.
func TestPipes(t *testing.T) {
	home, good := changed(t)
	pipe := filepath.Join(dirOf(home), "alice-20270101T000000.000Z"+suffix)
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, inTime(t, func() error {
		list, err := List(dirOf(home), "alice")
		if err == nil && (len(list) != 2 || !errors.Is(list[0].Err, ErrDamaged)) {
			t.Errorf("list %+v", list)
		}
		return err
	}))
	must(t, inTime(t, func() error {
		newest, ok, err := Newest(dirOf(home), "alice")
		if !ok || newest.Path != good.Path {
			t.Errorf("newest %+v", newest)
		}
		return err
	}))
	for _, path := range []string{pipe, home} {
		err := inTime(t, func() error { _, err := restore(home, path, RestoreOptions{Now: start}); return err })
		if !errors.Is(err, ErrDamaged) || !errors.Is(err, regular.ErrNotRegular) || !strings.Contains(err.Error(), path) {
			t.Errorf("restore of %s: %v", path, err)
		}
	}
	for _, lock := range []string{filepath.Join(dirOf(home), lockName+"-alice"), filepath.Join(home, restoreLock), journalPath(home)} {
		_ = os.Remove(lock)
		must(t, syscall.Mkfifo(lock, 0o600))
	}
	err := inTime(t, func() error {
		_, err := Create(context.Background(), source(home), CreateOptions{Dir: dirOf(home), Now: start})
		return err
	})
	if !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("create beside a pipe: %v", err)
	}
	if err := inTime(t, func() error { _, err := Recover(home); return err }); !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("recover: %v", err)
	}
	must(t, os.Remove(journalPath(home)))
	err = inTime(t, func() error { _, err := restore(home, good.Path, RestoreOptions{Now: start}); return err })
	if !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("restore beside a pipe: %v", err)
	}
}

// TestBecomesAPipe after it was listed: the backup goes on without it.
func TestBecomesAPipe(t *testing.T) {
	home := makeHome(t, 1)
	must(t, os.Remove(filepath.Join(home, "SOUL.md")))
	must(t, syscall.Mkfifo(filepath.Join(home, "SOUL.md"), 0o600))
	root, err := os.OpenRoot(home)
	must(t, err)
	defer root.Close()
	err = inTime(t, func() error { _, err := stageFile(root, "SOUL.md", filepath.Join(t.TempDir(), "SOUL.md")); return err })
	var unreadable *unreadableError
	if !errors.As(err, &unreadable) {
		t.Error(err)
	}
}

// TestVerifyEndsWithItsContext also inside one file: a small archive can unpack to a very large one.
func TestVerifyEndsWithItsContext(t *testing.T) {
	home := makeHome(t, 1)
	must(t, os.WriteFile(filepath.Join(home, "memories", "large"), make([]byte, 8<<20), 0o600))
	b := createAt(t, home, start)
	a, err := openArchive(b.Path)
	must(t, err)
	defer a.close()
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	read := int64(0)
	err = a.each(ctx, func(f File, content io.Reader) error {
		n, err := content.Read(make([]byte, 1))
		read += int64(n)
		if f.Size >= 8<<20 {
			cancel(stop)
			n, more := content.Read(make([]byte, 1<<20))
			if n > 0 || more == nil {
				t.Errorf("read %d more", n)
			}
			return more
		}
		return err
	})
	if !errors.Is(err, stop) || errors.Is(err, ErrDamaged) || read == 0 {
		t.Error(err)
	}
}
