package compaction

import (
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

var now = time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)

// TestIneffectivePasses: two passes in a row that reclaim less than a tenth suspend the agent's own attempts.
func TestIneffectivePasses(t *testing.T) {
	var s store.CompactionState
	for _, c := range []struct {
		before, after int64
		count         int64
		may           bool
	}{
		{1000, 901, 1, true}, {1000, 1000, 2, false}, {1000, 950, 3, false}, {1000, 900, 0, true}, {1000, 1200, 1, true}, {0, 0, 2, false},
	} {
		s = AfterPass(s, c.before, c.after, now)
		if s.IneffectiveCount != c.count || MayRun(s, now) != c.may {
			t.Errorf("%+v: %+v, may run %v", c, s, MayRun(s, now))
		}
	}
	if MayRun(s, now.Add(10*time.Minute-1)) || !MayRun(s, now.Add(10*time.Minute)) {
		t.Errorf("recovery at %s", s.RecoveryDeadline)
	}
}

func TestSummaryFailures(t *testing.T) {
	var s store.CompactionState
	for _, c := range []struct {
		reason           llm.Reason
		streak, overload int64
		pause            time.Duration
	}{
		{llm.ReasonTimeout, 1, 0, time.Minute}, {llm.ReasonServerError, 2, 0, 2 * time.Minute},
		{llm.ReasonOverloaded, 3, 1, 30 * time.Second}, {llm.ReasonRateLimit, 4, 2, time.Minute},
		{"", 5, 2, time.Minute}, // too early to ask: counted, and the pause stays
		{llm.ReasonAuth, 6, 0, 15 * time.Minute}, {llm.ReasonAuth, 7, 0, 15 * time.Minute},
	} {
		s = AfterFallback(s, c.reason, strings.Repeat("é", 400), now)
		if s.FallbackStreak != c.streak || s.OverloadStreak != c.overload || !s.CooldownUntil.Equal(now.Add(c.pause)) {
			t.Errorf("%s: %+v, want %+v", c.reason, s, c)
		}
		if MayAsk(s, now.Add(c.pause-1)) || !MayAsk(s, now.Add(c.pause)) || len([]rune(s.Failure)) != 300 {
			t.Errorf("%s: %+v", c.reason, s)
		}
	}
	s.IneffectiveCount = 1
	if got := AfterSummary(s); got != (store.CompactionState{IneffectiveCount: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestStatedWindow(t *testing.T) {
	for text, want := range map[string]int64{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.": 8_192,
		"This model's maximum context length is 128,000 tokens":                                               128_000,
		"prompt is too long: 210000 tokens > 200000 maximum":                                                  200_000,
		`{"n_prompt_tokens": 5000, "n_ctx": 4096}`:                                                            4_096,
		"the request exceeds the available context size (4096 tokens), try increasing it":                     4_096,
		"Requested token count exceeds the model's maximum context length of 131072 tokens":                   131_072,
		"max_model_len is 32768": 0,
		"input length and max_tokens exceed context limit: 196000 + 8192 > 200000": 0,
		"context window of 16384 tokens exceeded":                                  16_384,
		"exceeded limit of 65536 tokens":                                           65_536,
		"maximum context length is 12 tokens":                                      0,
		"maximum context length is 999999999999 tokens":                            0,
		"too long": 0,
		"":         0,
	} {
		if got := StatedWindow(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
