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

// exitMessage says for people how a run ended and what to do.
func exitMessage(class exitClass, f exitFacts, words lastWords, logFile string) string {
	switch {
	case class == exitConfiguration && f.Refusal != nil:
		return f.Refusal.Message
	case class == exitTransient && f.Refusal != nil:
		return f.Refusal.Message + "; it tries again"
	}
	message := f.describe()
	switch class {
	case exitConfiguration:
		message += ": it refused its configuration and waits for a change"
	case exitOutOfMemory:
		message += ": it used more memory than it may; raise spec.process.memoryLimit"
	case exitTransient:
		message += " (try again later)"
	}
	if words.Quote != "" {
		return message + ": " + words.Quote
	}
	return message + "; its log " + logFile + " is empty"
}
