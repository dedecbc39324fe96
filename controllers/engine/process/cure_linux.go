package process

import (
	"context"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

const (
	// cureLook is the pause between two looks at a home whose changes are not announced (a network filesystem).
	cureLook = 10 * time.Second
	// cureSettle is how long a home is left alone after a change: emptying a directory is many of them.
	cureSettle = 200 * time.Millisecond
)

// awaitCure waits while a refusal stands: for another workload or, where the cause
// lies in the home itself, for the cause to go. Nothing is written meanwhile.
func (s *supervisor) awaitCure(ctx context.Context, want wanted) {
	if s.intent.Seen.LastExit.Reason != v1alpha1.ReasonHomeNotOurs {
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
		return
	}
	for {
		// Watched before it is looked at, so that no change falls between.
		changed, stop := watchDir(want.Workload.Home)
		if !isForeign(want.Workload.Home) {
			stop()
			s.forgive()
			return
		}
		timer := s.eng.opts.Clock.NewTimer(cureLook)
		pause := time.Duration(0)
		select {
		case <-changed:
			pause = cureSettle
		case <-timer.C():
		case <-s.wake:
			pause = -1
		case <-ctx.Done():
			pause = -1
		}
		timer.Stop()
		stop()
		if pause < 0 || pause > 0 && !s.rest(ctx, pause) {
			return
		}
	}
}

// rest waits; false means that something else is wanted first.
func (s *supervisor) rest(ctx context.Context, d time.Duration) bool {
	timer := s.eng.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-s.wake:
	case <-ctx.Done():
	}
	return false
}

// isForeign reports that a root holds somebody's home. What cannot be looked at is as it was when it was refused.
func isForeign(root string) bool {
	found, err := home.Inspect(root)
	return err != nil || found.Ownership == home.HomeUnmanaged
}

// forgive lets the next start happen, not sooner after the refusal than after any
// other failure: a gateway that sees another cause than this engine does would
// start in a hot loop otherwise.
func (s *supervisor) forgive() {
	seen := &s.intent.Seen
	s.log.Info("the cause of the refusal is gone", "reason", seen.LastExit.Reason)
	seen.NextAttempt = seen.LastExit.At.Add(backoff(seen.Failures, s.eng.opts.jitter()))
	seen.LastExit = nil
	if err := s.save(); err != nil {
		s.log.Error(err, "record that the refusal does not stand any more")
	}
}
