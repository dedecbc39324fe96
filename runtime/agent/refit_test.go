package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// summariser answers every request with a summary.
type summariser struct{ requests int }

func (s *summariser) Stream(context.Context, llm.Request, func(llm.Delta)) (llm.Response, error) {
	s.requests++
	return llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Content: "short"}, FinishReason: llm.FinishStop}, nil
}

// TestCase104Refit: a request that is rebuilt for a smaller window is compacted before it is sent, and one that fits
// already stays as it is.
func TestCase104Refit(t *testing.T) {
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "state.db"), store.Options{Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, _, err := st.EnsureSession(ctx, store.Session{ID: "s", Source: "cli"}); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		_, err := st.Append(ctx, "s", store.Message{Role: "user", Content: fmt.Sprintf("question %d", i)},
			store.Message{Role: "assistant", Content: strings.Repeat("word ", 200)})
		if err != nil {
			t.Fatal(err)
		}
	}
	model := &summariser{}
	l, err := New(Config{Store: st, Model: model, Compaction: CompactionConfig{Store: st, Settings: compaction.Defaults(), Window: 200_000, Holder: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := st.Messages(ctx, "s")
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Loop: l, t: Turn{SessionID: "s"}, prompt: "be good"}
	r.size.learn(llm.Usage{Input: 1 << 30}, 1)
	r.reload(rows) // what was counted for another history is forgotten, else the first case would compact
	for _, c := range []struct {
		window    int64
		summaries int
	}{{200_000, 0}, {0, 0}, {16_384, 1}, {16_384, 1}, {4_096, 2}} {
		got, err := r.refit(ctx, c.window)
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, m := range got {
			n += compaction.MessageTokens(m)
		}
		if model.requests != c.summaries || c.window > 0 && n > compaction.Defaults().ThresholdFor(c.window) || got[0].Content != "be good" {
			t.Errorf("case 104 W=%d: %d tokens, %d summaries, want %d", c.window, n, model.requests, c.summaries)
		}
	}
	if fmt.Sprint(r.history[len(r.history)-1].Role) != "assistant" {
		t.Errorf("%+v", r.history[len(r.history)-1])
	}
}
