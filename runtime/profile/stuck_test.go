package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/store"
)

// stuckEnv makes the test binary a process that loses its log: such a store keeps its connections until the process
// ends, which the check for leaked goroutines would count.
const stuckEnv = "PROFILE_TEST_STUCK"

// TestStuckStoreStaysItsOwnCause: S-131. A store that was cut off from its log is kept through its idle time, so that
// the profile goes on saying why instead of finding itself in its own way.
func TestStuckStoreStaysItsOwnCause(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), stuckEnv+"="+filepath.Join(t.TempDir(), "state.db"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

func runStuck(path string) int {
	if err := loseLog(context.Background(), path); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func loseLog(ctx context.Context, path string) error {
	l := newLazyStore(path, time.Minute, clock.RealClock{}, logr.Discard())
	use := func() error {
		s, release, err := l.acquire(ctx)
		if err != nil {
			return err
		}
		defer release()
		_, _, err = s.EnsureSession(ctx, store.Session{ID: "s", Source: "cli"})
		return err
	}
	if err := errors.Join(use(), os.Remove(path+"-wal"), os.Remove(path+"-shm")); err != nil {
		return err
	}
	for range 2 {
		if err := use(); !errors.Is(err, store.ErrDeletedWAL) || storeReason(err) != "StoreUnavailable" {
			return fmt.Errorf("got %w, want ErrDeletedWAL", err)
		}
		l.closeUnused()
	}
	return nil
}
