package process

import (
	"time"
)

var noTime time.Time

// recordExit notes the end of a run and when the next one is due. Implements G4 and G5.
func (s *supervisor) recordExit(r *run, f exitFacts, words lastWords) {
	now := s.now()
	class := classify(f)
	seen := &s.intent.Seen
	seen.Run = nil
	if class == exitAsked {
		seen.NextAttempt = noTime
	} else {
		seen.LastExit = &exitRecord{
			RunID: r.ID, At: now, Class: class,
			Reason:   exitReason(class, f.Refusal),
			Message:  exitMessage(class, f, words, r.LogFile),
			Settings: r.Settings, RestartToken: r.RestartToken, Revision: r.Revision,
		}
		ready := time.Duration(0)
		if !r.ReadyAt.IsZero() {
			ready = now.Sub(r.ReadyAt)
		}
		seen.Failures = failuresAfter(seen.Failures, ready)
		seen.NextAttempt = noTime
		if class != exitConfiguration {
			seen.NextAttempt = now.Add(backoff(seen.Failures, s.eng.opts.jitter()))
		}
		s.log.Info("the gateway ended", "run", r.ID, "class", class, "message", seen.LastExit.Message, "failures", seen.Failures)
	}
	if err := s.save(); err != nil {
		s.log.Error(err, "record the end of the gateway")
	}
}
