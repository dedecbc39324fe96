package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

func call(id, name, args string) fakemodel.ToolCall {
	return fakemodel.ToolCall{ID: id, Name: name, Arguments: args}
}

func TestTurnWithTool(t *testing.T) {
	b := newBench(t)
	must(t, os.MkdirAll(filepath.Join(b.dir, "workspace"), 0o755))
	must(t, os.WriteFile(filepath.Join(b.dir, "workspace", "notes.md"), []byte("x"), 0o600))
	b.model.Script(
		fakemodel.Turn{Reasoning: "look first", ToolCalls: []fakemodel.ToolCall{call("c1", "list_dir", `{"path":"."}`)}, Usage: fakemodel.Usage{Prompt: 100, Completion: 10, Cached: 40}},
		fakemodel.Turn{Text: "You have notes.md.", Usage: fakemodel.Usage{Prompt: 150, Completion: 5, Cached: 100}},
	)
	got := b.mustSay("what is here?")
	if got.Reply != "You have notes.md." || got.ModelCalls != 2 || got.ToolCalls != 1 || got.Model != "fake-1" ||
		got.Usage != (llm.Usage{Input: 110, Output: 15, CacheRead: 140}) {
		t.Fatalf("%+v", got)
	}
	ms, err := b.store.Messages(context.Background(), "s")
	must(t, err)
	if b.roles() != "uata" || !strings.Contains(ms[2].Content, "notes.md") || ms[2].ToolCallID != "c1" || ms[2].ToolName != "list_dir" ||
		ms[1].Reasoning != "look first" || ms[1].FinishReason != "tool_calls" || ms[3].Content != got.Reply {
		t.Fatalf("rows %q", b.rows())
	}
	s, _, err := b.store.Session(context.Background(), "s")
	must(t, err)
	if s.Usage.InputTokens != 110 || s.Usage.CacheReadTokens != 140 || s.Usage.APICalls != 2 || s.SystemPrompt != "You are helpful." ||
		s.Source != "cli" || s.ProfileName != "p" || s.ToolCallCount != 1 {
		t.Fatalf("session %+v", s)
	}
	var kinds []string
	for _, e := range b.events {
		if n := len(kinds); n == 0 || kinds[n-1] != string(e.Kind) {
			kinds = append(kinds, string(e.Kind))
		}
	}
	if k := strings.Join(kinds, " "); k != "title reasoning usage tool_start tool_end text usage done" {
		t.Fatalf("events %s", k)
	}
	if last := b.events[len(b.events)-1]; last.Result.Reply != got.Reply || last.SessionID != "s" {
		t.Fatalf("done event %+v", last)
	}
}

// TestErrorsOfCallsGoToTheModel: T5, the loop goes on.
func TestErrorsOfCallsGoToTheModel(t *testing.T) {
	b := newBench(t)
	b.model.Script(
		fakemodel.Calls(call("1", "no_such_tool", `{}`), call("2", "list_dir", `{"path":`), call("3", "list_dir", `{"pth":"."}`), call("4", "list_dir", "")),
		fakemodel.Text("sorry"))
	b.mustSay("go")
	ms, err := b.store.Messages(context.Background(), "s")
	must(t, err)
	if b.roles() != "uatttta" {
		t.Fatal(b.rows())
	}
	for _, m := range ms[2:5] {
		if !strings.HasPrefix(m.Content, `{"error":`) {
			t.Errorf("result %q", m.Content)
		}
	}
	if strings.HasPrefix(ms[5].Content, `{"error":`) {
		t.Errorf("empty arguments were refused: %q", ms[5].Content)
	}
	legal(t, b.lastRequest())
}

func TestNoToolsAtAll(t *testing.T) {
	b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) { c.Tools = noTools{} })
	b.model.Script(fakemodel.Calls(call("1", `we"ird`, `{}`)), fakemodel.Text("ok"))
	b.mustSay("go")
	if len(b.model.Requests()[0].Parsed.Tools) != 0 {
		t.Error("tools were offered")
	}
	legal(t, b.lastRequest())
}

type noTools struct{}

func (noTools) Definitions() []tools.Definition { return nil }
func (noTools) Interactive(string) bool         { return false }
func (noTools) Run(context.Context, string, tools.Call, tools.ApproveFunc) tools.Result {
	return tools.Result{IsError: true, Content: `{"error":"none"}`}
}

// TestBudget: L6.
func TestBudget(t *testing.T) {
	b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) { c.MaxTurns = 3 })
	b.model.Respond(func(r fakemodel.Request) fakemodel.Turn {
		if len(r.Parsed.Messages) > 8 {
			return fakemodel.Text("usable again")
		}
		return fakemodel.Calls(call("x", "list_dir", `{}`))
	})
	r, err := b.say("loop")
	if e := kindOf(t, err); e.Kind != agent.KindBudget || r.ModelCalls != 3 || len(b.model.Requests()) != 3 {
		t.Fatalf("%v after %+v", err, r)
	}
	if got := b.mustSay("again"); got.Reply != "usable again" {
		t.Fatalf("%+v", got)
	}
	legal(t, b.lastRequest())
}

func TestInvalidTurns(t *testing.T) {
	b := newBench(t)
	for name, turn := range map[string]agent.Turn{
		"no session":           {Source: "cli", UserText: "x"},
		"no text":              {SessionID: "s", Source: "cli"},
		"resume with text":     {SessionID: "s", Source: "cli", UserText: "x", Resume: true},
		"resume of nothing":    {SessionID: "s", Source: "cli", Resume: true},
		"new without a source": {SessionID: "s", UserText: "x"},
	} {
		_, err := b.loop.Run(context.Background(), turn, nil)
		if e := kindOf(t, err); e.Kind != agent.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(b.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	b.mustSay("hello")
	_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Resume: true}, nil)
	if e := kindOf(t, err); e.Kind != agent.KindInvalid {
		t.Errorf("resume of a finished turn: %v", err)
	}
}

// TestSystemPromptIsBuiltOnce: L1, and it survives a restart of the loop with another builder.
func TestSystemPromptIsBuiltOnce(t *testing.T) {
	built := 0
	prompt := func(text string) option {
		return func(c *agent.Config, _ *tools.Config, _ *llm.Options) {
			c.SystemPrompt = func(context.Context) (string, error) { built++; return text, nil }
		}
	}
	b := newBench(t, prompt("first"))
	b.mustSay("one")
	b.mustSay("two")
	must(t, b.store.Close())
	b.open(b.model.URL(), prompt("second"))
	b.mustSay("three")
	if m := b.lastRequest(); built != 1 || m[0].Role != "system" || m[0].Content != "first" {
		t.Fatalf("built %d times, sent %+v", built, m[0])
	}
}

func TestApprovals(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	b := newBench(t, func(a *agent.Config, c *tools.Config, _ *llm.Options) { a.Clock, c.Mode = now, tools.ModeAsk })
	b.model.Script(fakemodel.Calls(call("1", "write_file", `{"path":"a","content":"x"}`)), fakemodel.Text("written"),
		fakemodel.Calls(call("2", "write_file", `{"path":"b","content":"x"}`)), fakemodel.Text("refused"))
	answer := tools.DecisionOnce
	run := func() {
		_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: "write", Approve: func(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
			if q.Tool != "write_file" || q.SessionID != "s" || q.Summary == "" {
				t.Errorf("asked %+v", q)
			}
			now.SetTime(now.Now().Add(time.Hour)) // the person thinks
			return answer, nil
		}}, b.record)
		must(t, err)
	}
	run()
	answer = tools.DecisionDeny
	run()
	if _, err := os.Stat(filepath.Join(b.dir, "workspace", "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "workspace", "b")); err == nil {
		t.Error("written although refused")
	}
	var got []string
	for _, e := range b.events {
		if e.Kind == agent.EventToolEnd && e.Tool.Took != 0 {
			t.Errorf("the tool took %s: the wait for its approval counts", e.Tool.Took)
		}
		if e.Approval != nil {
			got = append(got, string(e.Kind)+"="+e.Approval.Request.CallID)
		}
	}
	if s := strings.Join(got, " "); s != "approval=1 approval_done=1 approval=2 approval_done=2" {
		t.Error(s)
	}
}

func TestDemoModelRunsTheLoop(t *testing.T) {
	b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) { c.Model = llm.Demo{} })
	if r := b.mustSay("run echo hermes-$((40+2))"); !strings.Contains(r.Reply, "hermes-42") || !strings.Contains(r.Reply, "scripted demo") || r.Usage.Output == 0 {
		t.Fatalf("%+v", r)
	}
	if r := b.mustSay("write file a.txt hello"); r.ToolCalls != 1 {
		t.Fatalf("%+v", r)
	}
	if r := b.mustSay("list files"); !strings.Contains(r.Reply, "a.txt") {
		t.Fatalf("%+v", r)
	}
	if r := b.mustSay("read file a.txt"); !strings.Contains(r.Reply, "hello") {
		t.Fatalf("%+v", r)
	}
}
