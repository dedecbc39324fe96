package profile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// TestS401Keys: every key is read, and one that is out of range is told by its name.
func TestS401Keys(t *testing.T) {
	read := func(text string) (compactionSettings, error) {
		c, err := home.ParseConfig([]byte(text))
		must(t, err)
		return readCompaction(c)
	}
	for text, want := range map[string]compactionSettings{
		"": {Settings: compaction.Defaults()},
		"compression: {enabled: true, ratio: 0.5, in_place: true}": {Settings: compaction.Defaults()},
		"model: {context_window: 5000}":                            {Settings: compaction.Defaults(), window: 5000},
		"model: {context_window: 5000, context_length: 6000}":      {Settings: compaction.Defaults(), window: 6000},
		"compression: {enabled: false, tail_mode: legacy, target_ratio: 0.3, protect_last_n: 5, min_tail_user_messages: 2, protect_first_n: 0, threshold: 0.4, threshold_tokens: 9000, max_attempts: 1}": {
			Settings: compaction.Settings{TailMode: "legacy", TargetRatio: 0.3, ProtectLastN: 5, MinTailUserMessages: 2, Threshold: 0.4, ThresholdTokens: 9000, MaxAttempts: 1},
		},
	} {
		if got, err := read(text); err != nil || got != want {
			t.Errorf("S-401 %q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"compression: {in_place: false}":         "compression.in_place",
		"compression: {tail_mode: fat}":          "compression.tail_mode",
		"compression: {threshold: many}":         "compression.threshold is many",
		"compression: {protect_first_n: 1.5}":    "compression.protect_first_n is 1.5",
		"compression: {max_attempts: 0}":         "compression.max_attempts",
		"model: {context_length: large}":         "model.context_length",
		"model: {context_length: -1}":            "context window",
		"compression: {threshold_tokens: false}": "compression.threshold_tokens",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("S-401 %q: %v", text, err)
		}
	}
}

// windowed answers like a model with a window of 8,192 tokens.
func windowed(r fakemodel.Request) fakemodel.Turn {
	if int64(len(r.Body))/4 > 8_192 {
		return fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Code: "context_length_exceeded", Message: "maximum context length is 8192 tokens"}}
	}
	if len(r.Parsed.Tools) == 0 {
		return fakemodel.Text("a summary")
	}
	return fakemodel.Text(strings.Repeat("blah ", 200))
}

// TestSessionOutgrowsItsWindow: with the window of the spec, and without one, turns go on answering, and an edit of the
// settings is in effect on the next turn.
func TestSessionOutgrowsItsWindow(t *testing.T) {
	for _, window := range []int{0, 8_192} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			m := startModel(t)
			m.Respond(windowed)
			spec := profilehome.Model(m.URL(), "sk-alice")
			if window > 0 {
				spec.Config["model"].(map[string]any)["context_window"] = window
			}
			r := openRig(t, m, t.TempDir(), "alice", spec)
			compacted := 0
			for range 40 {
				_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: strings.Repeat("words ", 100)}, func(e agent.Event) {
					if e.Kind == agent.EventCompacted {
						compacted++
					}
				})
				must(t, err)
			}
			if compacted == 0 {
				t.Fatal("never compacted")
			}
			spec.Config["compression"] = map[string]any{"enabled": false}
			r.rewrite(spec)
			var err error
			for range 60 {
				if _, err = r.say("s", strings.Repeat("words ", 100)); err != nil {
					break
				}
			}
			var call *llm.Error
			if !errors.As(err, &call) || call.Reason != llm.ReasonContextOverflow {
				t.Errorf("switched off: %v", err)
			}
			if h := r.runtime.Health(); h.Reason != "" {
				t.Errorf("a session that is too long is no failure of the profile: %+v", h)
			}
			done, err := r.runtime.Compress(ctx(t), "s", "")
			if err != nil || !done.Done || done.Fallback {
				t.Errorf("by hand: %+v, %v", done, err)
			}
			r.mustSay("s", "and now?")
		})
	}
}

// TestCompress: a session has one owner, a demo needs no model, a bad setting is told as one of the configuration.
func TestCompress(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "slow", Gate: gate})
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "one")
		turn <- err
	}()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	if _, err := r.runtime.Compress(ctx(t), "s", ""); kind(t, err) != agent.KindBusy {
		t.Errorf("while it answers: %v", err)
	}
	close(gate)
	must(t, <-turn)
	must(t, os.WriteFile(r.runtime.Paths().Config(), []byte("compression: {max_attempts: 0}"), 0o600))
	var bad *ConfigError
	if _, err := r.runtime.Compress(ctx(t), "s", ""); !errors.As(err, &bad) {
		t.Errorf("bad setting: %v", err)
	}
	demo := openRig(t, r.model, t.TempDir(), "demo", profilehome.Demo())
	for range 12 {
		demo.mustSay("s", strings.Repeat("hello ", 50))
	}
	if done, err := demo.runtime.Compress(ctx(t), "s", ""); err != nil || !done.Done || !done.Fallback || done.Failure != "" {
		t.Errorf("demo: %+v, %v", done, err)
	}
	demo.mustSay("s", "and now?")
}
