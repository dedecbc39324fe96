package compaction

import "fmt"

// Tail modes.
const (
	// TailLean sizes the tail by the window within a narrow range, and stubs old tool results.
	TailLean = "lean"
	// TailLegacy sizes the tail as a share of the threshold.
	TailLegacy = "legacy"
)

// The constants of S-401, in tokens, and shares of the window in thousandths.
const (
	leanFloor    = 10_000
	leanCap      = 25_000
	leanShare    = 25
	hardShare    = 200
	softFactor   = 1.5
	largeWindow  = 512_000
	defaultRatio = 0.50
	smallRatio   = 0.75
)

// Settings are the keys compression.* of config.yaml. Implements S-401.
type Settings struct {
	// Enabled is whether the agent compacts on its own account; a person may always ask.
	Enabled bool
	// TailMode is lean or legacy.
	TailMode string
	// TargetRatio is the legacy tail's share of the threshold.
	TargetRatio float64
	// ProtectLastN is how many of the newest rows stay, as far as the token bounds allow.
	ProtectLastN int
	// MinTailUserMessages is how many of the person's newest messages stay whatever the bounds say.
	MinTailUserMessages int
	// ProtectFirstN is how many rows at the beginning stay.
	ProtectFirstN int
	// Threshold is the share of the window from which a request is too large; 0 is 0.50, or 0.75 for windows under
	// 512,000 tokens. ThresholdTokens bounds it, in tokens.
	Threshold       float64
	ThresholdTokens int64
	// MaxAttempts is how often one request is made smaller after the model refused it.
	MaxAttempts int
}

// Defaults of S-401.
func Defaults() Settings {
	return Settings{
		Enabled: true, TailMode: TailLean, TargetRatio: 0.20, ProtectLastN: 20, MinTailUserMessages: 1, ProtectFirstN: 3,
		ThresholdTokens: 256_000, MaxAttempts: 3,
	}
}

// Check says which setting is out of range.
func (s Settings) Check() error {
	switch {
	case s.TailMode != TailLean && s.TailMode != TailLegacy:
		return fmt.Errorf("compression.tail_mode is %q: use lean or legacy", s.TailMode)
	case s.TargetRatio < 0.05 || s.TargetRatio > 0.80:
		return fmt.Errorf("compression.target_ratio is %v: use a share from 0.05 to 0.80", s.TargetRatio)
	case s.Threshold != 0 && (s.Threshold < 0.10 || s.Threshold > 0.95):
		return fmt.Errorf("compression.threshold is %v: use a share of the window from 0.10 to 0.95", s.Threshold)
	case s.ThresholdTokens < 1000:
		return fmt.Errorf("compression.threshold_tokens is %d: use at least 1000", s.ThresholdTokens)
	case s.ProtectFirstN < 0 || s.ProtectLastN < 0 || s.MinTailUserMessages < 0:
		return fmt.Errorf("compression.protect_first_n, protect_last_n and min_tail_user_messages must not be negative")
	case s.MaxAttempts < 1 || s.MaxAttempts > 10:
		return fmt.Errorf("compression.max_attempts is %d: use a number from 1 to 10", s.MaxAttempts)
	}
	return nil
}

// ThresholdFor is from how many tokens on a request to a model with this window is compacted first. A window of 0 is
// unknown. Implements S-401.
func (s Settings) ThresholdFor(window int64) int64 {
	if window <= 0 {
		return s.ThresholdTokens
	}
	ratio := s.Threshold
	if ratio == 0 {
		ratio = defaultRatio
		if window < largeWindow {
			ratio = smallRatio
		}
	}
	return min(int64(ratio*float64(window)), s.ThresholdTokens)
}

// Budget is how many tokens the tail should have. Implements S-402.
func (s Settings) Budget(window int64) int64 {
	base := max(leanFloor, min(leanCap, window*leanShare/1000))
	if s.TailMode == TailLegacy {
		base = int64(float64(s.ThresholdFor(window)) * s.TargetRatio)
	}
	if window <= 0 {
		return base
	}
	return min(base, hardLimit(window))
}

// SoftCeiling is how many tokens the tail may have so that no row is split. Implements S-403.
func (s Settings) SoftCeiling(window int64) int64 {
	budget := s.Budget(window)
	ceiling := int64(softFactor * float64(budget))
	if window > 0 {
		ceiling = min(ceiling, hardLimit(window))
	}
	return max(budget, ceiling)
}

func hardLimit(window int64) int64 { return window * hardShare / 1000 }
