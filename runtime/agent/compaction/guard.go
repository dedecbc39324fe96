package compaction

import (
	"time"
	"unicode/utf8"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

const (
	// A pass is effective when it makes the session smaller by this share, in hundredths.
	effectiveShare = 10
	// ineffectiveLimit is how many passes in a row may reclaim next to nothing before the agent stops trying on its own
	// account, and recoveryAfter for how long.
	ineffectiveLimit = 2
	recoveryAfter    = 10 * time.Minute
	// Pauses before a model is asked for a summary again: after a failure, and when its server has no capacity.
	failurePause, failurePauseMax   = time.Minute, 15 * time.Minute
	overloadPause, overloadPauseMax = 30 * time.Second, 5 * time.Minute
	// maxFailure bounds the failure that is remembered, in characters.
	maxFailure = 300
)

// MayRun reports whether the agent may compact on its own account: not for a while after passes that reclaimed nothing.
func MayRun(s store.CompactionState, now time.Time) bool {
	return s.IneffectiveCount < ineffectiveLimit || !now.Before(s.RecoveryDeadline)
}

// MayAsk reports whether a model may be asked for a summary.
func MayAsk(s store.CompactionState, now time.Time) bool { return !now.Before(s.CooldownUntil) }

// AfterPass is the state after a pass that changed a session's size from before to after tokens.
func AfterPass(s store.CompactionState, before, after int64, now time.Time) store.CompactionState {
	if before-after >= max(1, before*effectiveShare/100) {
		s.IneffectiveCount, s.RecoveryDeadline = 0, time.Time{}
		return s
	}
	if s.IneffectiveCount++; s.IneffectiveCount >= ineffectiveLimit {
		s.RecoveryDeadline = now.Add(recoveryAfter)
	}
	return s
}

// AfterSummary is the state after a model wrote a summary: every failure is forgotten.
func AfterSummary(s store.CompactionState) store.CompactionState {
	s.CooldownUntil, s.Failure, s.FallbackStreak, s.OverloadStreak = time.Time{}, "", 0, 0
	return s
}

// AfterFallback is the state after a summary had to be written without a model, because asking failed with reason, or
// with an empty one because it was too early to ask again.
func AfterFallback(s store.CompactionState, reason llm.Reason, failure string, now time.Time) store.CompactionState {
	s.FallbackStreak++
	switch reason {
	case "":
		return s
	case llm.ReasonOverloaded, llm.ReasonRateLimit, llm.ReasonUpstreamRateLimit:
		s.OverloadStreak++
		s.CooldownUntil = now.Add(doubled(overloadPause, overloadPauseMax, s.OverloadStreak))
	default:
		s.OverloadStreak = 0
		s.CooldownUntil = now.Add(doubled(failurePause, failurePauseMax, s.FallbackStreak))
	}
	if utf8.RuneCountInString(failure) > maxFailure {
		failure = string([]rune(failure)[:maxFailure])
	}
	s.Failure = failure
	return s
}

// doubled is d doubled n-1 times, at most limit.
func doubled(d, limit time.Duration, n int64) time.Duration {
	for ; n > 1 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}
