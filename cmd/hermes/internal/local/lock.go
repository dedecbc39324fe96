package local

import (
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/host"
)

// unnamed is how long a lock may be held by nobody who can be named: by a process that was killed a moment ago and
// is still being taken down, or by one that is about to write its name.
const unnamed = 3 * time.Second

// Take makes this process the one that runs hermes up for a data directory, for the rest of its life. When
// another one does, the error names it and has exit code 75.
func Take(d datadir.Dir, now time.Time) (*host.Lock, datadir.Owner, error) {
	attempt := host.TryLock(d.UpLock())
	for deadline := now.Add(unnamed); attempt.Outcome == host.HeldByAnother; attempt = host.TryLock(d.UpLock()) {
		if owner, ok := d.Up(); ok {
			return nil, owner, exit.Busyf("hermes up already runs for %s (pid %d): use it, or stop it with %s", d, owner.PID, d.Command("down", true))
		}
		if !time.Now().Before(deadline) {
			return nil, datadir.Owner{}, exit.Busyf("hermes up or hermes down already runs for %s: wait for it to end", d)
		}
		<-time.After(20 * time.Millisecond)
	}
	switch attempt.Outcome {
	case host.CouldNotOpen:
		return nil, datadir.Owner{}, exit.Refusedf("data directory %s cannot be used: %w", d, attempt.Err)
	}
	owner := datadir.Self(now)
	raw, err := owner.Encode()
	if err == nil {
		err = attempt.Lock.WriteOwner(raw)
	}
	if err != nil {
		_ = attempt.Lock.Release()
		return nil, datadir.Owner{}, exit.Refusedf("data directory %s cannot be used: %w", d, err)
	}
	return attempt.Lock, owner, nil
}
