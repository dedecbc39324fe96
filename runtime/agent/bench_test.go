package agent_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// instantModel calls a tool n-1 times and then answers, in no time.
type instantModel struct{ n int }

func (m *instantModel) Stream(_ context.Context, r llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	calls := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleUser; i-- {
		if r.Messages[i].Role == llm.RoleAssistant {
			calls++
		}
	}
	out := llm.Response{Message: llm.Message{Role: llm.RoleAssistant}, FinishReason: llm.FinishToolCalls, Model: "instant", Usage: llm.Usage{Input: 1000, Output: 50}}
	if calls < m.n-1 {
		out.Message.ToolCalls = []llm.ToolCall{{ID: fmt.Sprintf("c%d", calls), Name: "t", Arguments: `{"path":"some/file.go"}`}}
		return out, nil
	}
	emit(llm.Delta{Text: "done"})
	out.Message.Content, out.FinishReason = "done", llm.FinishStop
	return out, nil
}

// BenchmarkTurn26 is the overhead of a 26-call turn outside the model, all rows and usage stored; the target is at
// most 1 ms per call.
func BenchmarkTurn26(b *testing.B) {
	const calls = 26
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(b.TempDir(), "state.db"), store.Options{Log: logr.Discard()})
	must(b, err)
	defer st.Close()
	content := string(make([]byte, 0, 2048))
	for len(content) < 2048 {
		content += "a line of tool output\n"
	}
	ts := scriptedTools{run: func(context.Context, tools.Call) tools.Result { return tools.Result{Content: content} }}
	loop, err := agent.New(agent.Config{Store: st, Tools: ts, Model: &instantModel{n: calls}, ModelName: "instant"})
	must(b, err)
	b.ReportAllocs()
	n := 0
	before := cpu(b)
	for b.Loop() {
		n++
		r, err := loop.Run(ctx, agent.Turn{SessionID: fmt.Sprintf("s%d", n), Source: "cli", UserText: "go"}, func(agent.Event) {})
		if err != nil || r.ModelCalls != calls {
			b.Fatalf("%+v %v", r, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n*calls), "µs/call")
	// The process's own time: what the wall clock says on a machine that does other work as well is not ours.
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(n*calls), "cpu-µs/call")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
