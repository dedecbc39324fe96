package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a contended lock is tried again.
const lockPoll = 100 * time.Millisecond

// errContended means that somebody else held a lock for as long as we were willing to wait.
var errContended = errors.New("held by another process")

// fileLock takes the advisory lock on path, creating the file, and waits at most patience; 0 tries once. The lock belongs
// to the open file and is free the moment its holder is gone. Its file is never removed: removing it lets two hold "the"
// lock on two files of one name.
func fileLock(ctx context.Context, path string, patience time.Duration) (release func(), err error) {
	file := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
	locked, err := file.TryLock()
	if err == nil && !locked && patience > 0 {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		locked, err = file.TryLockContext(waiting, lockPoll)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !locked {
		return nil, fmt.Errorf("lock %s: %w", path, errContended)
	}
	return func() { _ = file.Close() }, nil
}
