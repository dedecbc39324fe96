package host

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func acquire(t *testing.T, path string) *Lock {
	t.Helper()
	attempt := TryLock(path)
	if attempt.Outcome != Acquired || attempt.Lock == nil || attempt.Err != nil {
		t.Fatalf("lock %s: %s, %v", path, attempt.Outcome, attempt.Err)
	}
	t.Cleanup(func() {
		if err := attempt.Lock.Release(); err != nil {
			t.Error(err)
		}
	})
	return attempt.Lock
}

// G-225: three outcomes that are never confused.
func TestTryLockOutcomes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.lock")
	lock := acquire(t, path)
	if second := TryLock(path); second.Outcome != HeldByAnother || second.Lock != nil || second.Err != nil {
		t.Errorf("second description: %+v", second)
	}
	if !lock.Intact() {
		t.Error("losing contenders broke the lock")
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	acquire(t, path)

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path string
		want error
	}{
		"parent is missing":   {filepath.Join(t.TempDir(), "gone", "x.lock"), syscall.ENOENT},
		"parent is a file":    {filepath.Join(file, "x.lock"), syscall.ENOTDIR},
		"path is a directory": {t.TempDir(), syscall.EISDIR},
	} {
		if got := TryLock(tc.path); got.Outcome != CouldNotOpen || !errors.Is(got.Err, tc.want) {
			t.Errorf("%s: %s, %v, want %v", name, got.Outcome, got.Err, tc.want)
		}
	}
}

// G-210: the lock names its holder to anybody, also while it is held.
func TestLockNamesItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockFileName)
	lock := acquire(t, path)
	if _, ok := LockOwner(path); ok {
		t.Error("an empty lock file names a holder")
	}
	for _, content := range []string{
		`{"kind":"hermes-gateway","pid":41,"argv":["a","b"],"start_time":9,"hermes_home":"/long/home/of/somebody"}`,
		`{"kind":"hermes-gateway","pid":42,"start_time":9,"hermes_home":"/h"}`,
	} {
		if err := lock.WriteOwner([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	owner, ok := LockOwner(path)
	if !ok || owner.PID != 42 || owner.HermesHome != "/h" {
		t.Errorf("holder %+v, %v", owner, ok)
	}
	if got := TryLock(path); got.Outcome != HeldByAnother {
		t.Errorf("naming the holder lost the lock: %s", got.Outcome)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A lock whose file was removed protects nothing, and its holder can tell.
func TestReplacedLockFileIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.lock")
	lock := acquire(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if lock.Intact() {
		t.Error("lock on a removed file counts as held")
	}
	mustContain(t, lock.WriteOwner([]byte("x")), "no longer held")
	if exists(t, path) {
		t.Error("a lost lock recreated its file")
	}
	acquire(t, path)
	if lock.Intact() {
		t.Error("lock counts as held although another process holds the file of that name")
	}
}

func TestReleaseTwice(t *testing.T) {
	lock := acquire(t, filepath.Join(t.TempDir(), "x.lock"))
	for range 2 {
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if lock.Intact() {
		t.Error("released lock counts as held")
	}
}

// A lock file that is removed between open and lock is not mistaken for the one others contend for.
func TestTryLockFollowsAReplacedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.lock")
	stop := make(chan struct{})
	var tidy sync.WaitGroup
	tidy.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if attempt := TryLock(path); attempt.Outcome == Acquired {
				_ = os.Remove(path)
				_ = attempt.Lock.Release()
			}
		}
	})
	defer tidy.Wait()
	defer close(stop)
	for round := range 5_000 {
		attempt := TryLock(path)
		if attempt.Outcome != Acquired {
			continue
		}
		intact := attempt.Lock.Intact()
		if err := attempt.Lock.Release(); err != nil || !intact {
			t.Fatalf("round %d: lock taken on a removed file: %v, %v", round, !intact, err)
		}
	}
}
