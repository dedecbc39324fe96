package compaction

import (
	"strings"
	"testing"
)

// TestS405WorkedNumbers is the table of S-405, T-320 and T-321.
func TestS405WorkedNumbers(t *testing.T) {
	for _, c := range []struct{ window, budget, ceiling int64 }{
		{8_192, 1_638, 1_638}, {16_384, 3_276, 3_276}, {32_768, 6_553, 6_553}, {50_000, 10_000, 10_000},
		{65_536, 10_000, 13_107}, {75_000, 10_000, 15_000}, {131_072, 10_000, 15_000}, {400_000, 10_000, 15_000},
		{512_000, 12_800, 19_200}, {1_000_000, 25_000, 37_500},
		{0, 10_000, 15_000}, // S-402: no hard share without a window
		{4_000_000, 25_000, 37_500},
	} {
		s := Defaults()
		if b, soft := s.Budget(c.window), s.SoftCeiling(c.window); b != c.budget || soft != c.ceiling {
			t.Errorf("T-320 T-321 W=%d: budget %d, ceiling %d, want %d, %d", c.window, b, soft, c.budget, c.ceiling)
		}
	}
}

func TestT322Legacy(t *testing.T) {
	s := Defaults()
	s.TailMode = TailLegacy
	for _, c := range []struct{ window, budget int64 }{
		{16_384, 2_457},     // 0.20 of 12,288
		{1_000_000, 51_200}, // 0.20 of the 256,000 of threshold_tokens
		{0, 51_200},
	} {
		if b := s.Budget(c.window); b != c.budget || c.window > 0 && b > c.window/5 {
			t.Errorf("T-322 W=%d: %d, want %d", c.window, b, c.budget)
		}
	}
	s.TargetRatio = 0.8
	if b := s.Budget(16_384); b != 3_276 {
		t.Errorf("T-322 hard share: %d", b)
	}
}

func TestS401Threshold(t *testing.T) {
	for _, c := range []struct {
		threshold float64
		tokens    int64
		window    int64
		want      int64
	}{
		{0, 256_000, 8_192, 6_144},
		{0, 256_000, 511_999, 256_000}, // 0.75, bounded
		{0, 256_000, 200_000, 150_000},
		{0, 256_000, 512_000, 256_000},
		{0, 1_000_000, 512_000, 256_000}, // 0.50
		{0, 1_000_000, 511_999, 383_999}, // 0.75
		{0.3, 256_000, 100_000, 30_000},  // what a person wrote stands
		{0, 5_000, 100_000, 5_000},
		{0, 256_000, 0, 256_000},
	} {
		s := Defaults()
		s.Threshold, s.ThresholdTokens = c.threshold, c.tokens
		if got := s.ThresholdFor(c.window); got != c.want {
			t.Errorf("S-401 %+v: %d", c, got)
		}
	}
}

func TestSettingsCheck(t *testing.T) {
	if err := Defaults().Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Settings){
		"tail_mode":        func(s *Settings) { s.TailMode = "fat" },
		"target_ratio":     func(s *Settings) { s.TargetRatio = 1 },
		"threshold is":     func(s *Settings) { s.Threshold = 1.5 },
		"threshold_tokens": func(s *Settings) { s.ThresholdTokens = 0 },
		"protect_first_n":  func(s *Settings) { s.ProtectFirstN = -1 },
		"max_attempts":     func(s *Settings) { s.MaxAttempts = 0 },
	} {
		s := Defaults()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
