package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
)

// HomeClaim is this process's hold on one home: gateway.lock for life and, under it, gateway.pid.
type HomeClaim struct {
	home   string
	record PIDRecord
	lock   *Lock
}

// HomeClaimResult is the result of [ClaimHome].
type HomeClaimResult struct {
	Outcome LockOutcome
	// Claim is set when Outcome is Acquired.
	Claim *HomeClaim
	// Holder names who holds the lock when Outcome is HeldByAnother and the holder has said so.
	Holder *PIDRecord
	// Err explains CouldNotOpen, or [ErrPIDFileExists] and the like after the lock was acquired.
	Err error
}

// ClaimHome takes gateway.lock of a home and creates its gateway.pid. A pid file left by a dead process is cleared away
// first, which is safe only because the lock is held. A pid file of a process that may live (one that predates the lock)
// is kept: Err is then [ErrPIDFileExists] and the caller decides; the lock stays held until it releases the claim.
// Implements G-210 and G-211.
func ClaimHome(home string, record PIDRecord, log logr.Logger) HomeClaimResult {
	attempt := TryLock(filepath.Join(home, LockFileName))
	switch attempt.Outcome {
	case HeldByAnother:
		return HomeClaimResult{Outcome: HeldByAnother, Holder: livingHolder(filepath.Join(home, LockFileName), Observe)}
	case CouldNotOpen:
		return HomeClaimResult{Outcome: CouldNotOpen, Err: attempt.Err}
	}
	claim := &HomeClaim{home: home, record: record, lock: attempt.Lock}
	return HomeClaimResult{Outcome: Acquired, Claim: claim, Err: claim.publish(log)}
}

func (c *HomeClaim) publish(log logr.Logger) error {
	data, err := json.Marshal(c.record)
	if err != nil {
		return fmt.Errorf("encode pid record: %w", err)
	}
	if err := c.lock.WriteOwner(append(data, '\n')); err != nil {
		return err
	}
	removed, err := removeIf(filepath.Join(c.home, PIDFileName), func(data []byte) bool {
		left, ok := ParsePIDRecord(data)
		return !ok || ProcessLiveness(left.Process()) == Dead || left.PID == os.Getpid()
	})
	if removed {
		log.V(1).Info("cleared the pid file of a gateway that is gone", "home", c.home)
	}
	if err != nil {
		return fmt.Errorf("clear a left pid file: %w", err)
	}
	return CreatePIDFile(c.home, c.record)
}

// Held reports whether the home is still exclusively this process's.
func (c *HomeClaim) Held() bool { return c.lock.Intact() }

// Release removes this process's pid file and then gives up the lock. Releasing twice is harmless.
func (c *HomeClaim) Release() error {
	_, err := RemovePIDFile(c.home, c.record.Process())
	return errors.Join(err, c.lock.Release())
}
