package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// TestStopAtEachPoint: wherever a stop comes, Run returns at once with what is known stored, no partial text becomes
// history (L5), every call has a result, and the session answers in the very next turn.
func TestStopAtEachPoint(t *testing.T) {
	const partial = "partial text that must not become history "
	ask := func(_ *agent.Config, c *tools.Config, _ *llm.Options) { c.Mode = tools.ModeAsk }
	patient := func(_ *agent.Config, _ *tools.Config, o *llm.Options) {
		o.Policy = llm.Policy{MaxRetries: 3, MaxWait: time.Hour, Base: time.Minute, Cap: time.Minute}
	}
	sequential := withTools(scriptedTools{interactive: "t", run: func(context.Context, tools.Call) tools.Result { return tools.Result{Content: "ran"} }})
	for _, c := range []struct {
		name  string
		on    agent.EventKind
		turns []fakemodel.Turn
		opts  []option
		rows  string
		last  string // part of the last row
	}{
		{"before the request", agent.EventTitle, nil, nil, "u", "hi"},
		{"in the stream", agent.EventText, []fakemodel.Turn{{Text: strings.Repeat(partial, 50), Fault: fakemodel.Fault{StallAfter: 2000}}}, nil, "u", "hi"},
		{"in the stream after a tool", agent.EventText, []fakemodel.Turn{fakemodel.Calls(call("1", "list_dir", `{}`)), {Text: strings.Repeat(partial, 50), Fault: fakemodel.Fault{StallAfter: 2000}}}, nil, "uat", "empty"},
		{"in the back-off", agent.EventRetry, []fakemodel.Turn{fakemodel.Status(503)}, []option{patient}, "u", "hi"},
		{"with an answer that calls", agent.EventUsage, []fakemodel.Turn{fakemodel.Calls(call("1", "list_dir", `{}`))}, nil, "uat", "not run"},
		{"in an approval", agent.EventApproval, []fakemodel.Turn{fakemodel.Calls(call("1", "terminal", `{"command":"true"}`))}, []option{ask}, "uat", "error"},
		{"in a tool", agent.EventToolStart, []fakemodel.Turn{fakemodel.Calls(call("1", "terminal", `{"command":"sleep 600"}`))}, nil, "uat", ""},
		{"between tools", agent.EventToolEnd, []fakemodel.Turn{fakemodel.Calls(call("1", "t", `{}`), call("2", "t", `{}`))}, []option{sequential}, "uatt", "not run"},
		{"after the tools", agent.EventToolEnd, []fakemodel.Turn{fakemodel.Calls(call("1", "list_dir", `{}`))}, nil, "uat", "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.opts...)
			b.model.Script(c.turns...)
			var stopped time.Time
			turn := agent.Turn{SessionID: "s", Source: "cli", UserText: "hi", Approve: func(ctx context.Context, _ tools.ApprovalRequest) (tools.Decision, error) {
				<-ctx.Done()
				return tools.DecisionDeny, ctx.Err()
			}}
			_, err := b.loop.Run(context.Background(), turn, func(e agent.Event) {
				b.record(e)
				if e.Kind == c.on && stopped.IsZero() {
					stopped = time.Now()
					b.loop.Stop("s")
				}
			})
			if took := time.Since(stopped); stopped.IsZero() || took > 300*time.Millisecond && c.on != agent.EventToolStart {
				t.Errorf("case 105: it ended %s after the stop", took)
			}
			if e := kindOf(t, err); e.Kind != agent.KindInterrupted || !errors.Is(err, agent.ErrStopped) {
				t.Fatalf("got %v", err)
			}
			rows := b.rows()
			if b.roles() != c.rows || !strings.Contains(rows[len(rows)-1], c.last) || strings.Contains(strings.Join(rows, ""), partial) {
				t.Fatalf("L5 rows %q", rows)
			}
			must(t, b.store.Close())
			b.open(b.model.URL(), c.opts...)
			b.mustSay("again")
			legal(t, b.lastRequest())
		})
	}
}
