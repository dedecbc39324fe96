package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// answers makes the fake model answer by what was said last, whoever asks: a person's text or a child's goal.
type answers map[string]fakemodel.Turn

func (a answers) respond(r fakemodel.Request) fakemodel.Turn {
	all := r.Parsed.Decoded()
	last := all[len(all)-1]
	key := last.Content
	switch {
	case last.Role == "tool":
		key = "after tools"
	case strings.HasPrefix(key, "[ASYNC DELEGATION COMPLETE]"):
		key = "notice"
	}
	if t, ok := a[key]; ok {
		return t
	}
	return fakemodel.Text("answer to " + key)
}

func delegates(args string) fakemodel.Turn {
	return fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("d1", "delegate_task", args)}}
}

// until waits for a condition that a goroutine of the runtime brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	c := ctx(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-c.Done():
			t.Fatalf("%s did not come", what)
		}
	}
}

// delegation gives the one row of a session.
func (r *rig) delegation(parent string) store.Delegation {
	r.t.Helper()
	rows, err := r.runtime.Delegations(ctx(r.t), parent)
	must(r.t, err)
	if len(rows) != 1 {
		r.t.Fatalf("%d delegations of %s", len(rows), parent)
	}
	return rows[0]
}

func (r *rig) untilDelivery(parent, state string) {
	r.t.Helper()
	until(r.t, "delivery "+state, func() bool { return r.delegation(parent).DeliveryState == state })
}

func (r *rig) rows(session string) []store.Message {
	r.t.Helper()
	_, rows, _, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	return rows
}

func TestDelegateSync(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	m.Respond(answers{
		"go":     delegates(`{"tasks":[{"goal":"first","context":"know this"},{"goal":"second","toolsets":["file","delegation"]}]}`),
		"second": fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("x", "delegate_task", `{"goal":"deeper"}`), call("y", "terminal", `{"command":"true"}`)}},
	}.respond)
	r.mustSay("s1", "go")
	var got report
	results := r.toolResults("s1")
	must(t, json.Unmarshal([]byte(results[0]), &got))
	if len(results) != 1 || got.Status != "completed" || got.Results[0].Summary != "answer to first\n\n# Context\n\nknow this" || got.Results[1].Summary != "answer to after tools" || got.Results[1].APICalls != 2 {
		t.Fatalf("%s", results)
	}
	for _, res := range got.Results {
		s, _, ok, err := r.runtime.Session(ctx(t), res.SessionID)
		must(t, err)
		if !ok || s.ParentID != "s1" || s.Source != "subagent" || !session.Marked(s.ModelConfig, session.DelegateFrom, "s1") || !strings.Contains(s.SystemPrompt, "child agent") || s.EndReason != endDelegated {
			t.Errorf("S-103 %+v", s)
		}
	}
	// Children do not delegate and do not ask, and the toolsets narrow what they have.
	for _, text := range r.toolResults(got.Results[1].SessionID) {
		if !strings.Contains(text, "a child agent has no tool") {
			t.Errorf("%s", text)
		}
	}
	offered := map[string]bool{}
	for _, req := range m.Requests() {
		if strings.HasPrefix(req.Parsed.Decoded()[1].Content, "first") {
			for _, raw := range req.Parsed.Tools {
				var def struct{ Function struct{ Name string } }
				must(t, json.Unmarshal(raw, &def))
				offered[def.Function.Name] = true
			}
		}
	}
	if !offered["terminal"] || !offered["read_file"] || offered["delegate_task"] || offered["clarify"] {
		t.Errorf("a child is offered %v", offered)
	}
	for _, o := range []struct {
		list store.ListOptions
		want int
	}{{store.ListOptions{}, 1}, {store.ListOptions{Source: "subagent"}, 2}, {store.ListOptions{Hidden: true}, 3}} {
		if list, err := r.runtime.Sessions(ctx(t), o.list); err != nil || len(list) != o.want {
			t.Errorf("%+v lists %d sessions, %v", o.list, len(list), err)
		}
	}
	if rows, err := r.runtime.Delegations(ctx(t), ""); err != nil || len(rows) != 0 {
		t.Errorf("nobody is owed what somebody waited for: %v, %v", rows, err)
	}
}

func TestDelegateRefusals(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	for i, tt := range [][2]string{
		{`{}`, "task 1 has no goal"},
		{`{"goal":"g","toolsets":["nonsense"]}`, `unknown toolset \"nonsense\"`},
		{`{"goal":"g","more":1}`, "more"},
	} {
		id := fmt.Sprint("s", i)
		m.Script(delegates(tt[0]), fakemodel.Text("ok"))
		r.mustSay(id, "go")
		if got := r.toolResults(id); len(got) != 1 || !strings.Contains(got[0], tt[1]) {
			t.Errorf("%s: %v", tt[0], got)
		}
	}
	for key, value := range map[string]any{"max_concurrent_children": 0, "max_iterations": "many"} {
		r.rewrite(withConfig(m, map[string]any{"delegation": map[string]any{key: value}}))
		r.runtime.Reload()
		if _, err := r.say("s9", "hello"); err == nil || !strings.Contains(err.Error(), "delegation."+key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// L6: a child has a budget of its own, and what it said last is not lost.
func TestL6ChildBudget(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, map[string]any{"delegation": map[string]any{"max_iterations": 2}}))
	loop := fakemodel.Turn{Text: "still looking", ToolCalls: []fakemodel.ToolCall{call("l", "list_dir", `{"path":"."}`)}}
	m.Script(delegates(`{"goal":"endless"}`), loop, loop, fakemodel.Text("done"))
	r.mustSay("s1", "go")
	var got report
	must(t, json.Unmarshal([]byte(r.toolResults("s1")[0]), &got))
	if res := got.Results[0]; res.ExitReason != "max_iterations" || res.APICalls != 2 || res.Summary != "still looking" || !strings.Contains(res.Error, "delegation.max_iterations") {
		t.Errorf("%+v", res)
	}
}

// A question of a child goes to the person of the session that delegated.
func TestChildAsksThePerson(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, map[string]any{"approvals": map[string]any{"mode": "ask"}}))
	m.Script(
		delegates(`{"goal":"touch it"}`), fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("t", "terminal", `{"command":"echo hi"}`)}},
		fakemodel.Text("child done"), fakemodel.Text("done"),
	)
	var asked []tools.ApprovalRequest
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s1", Source: "cli", UserText: "go", Approve: func(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
		asked = append(asked, q)
		return tools.DecisionOnce, nil
	}}, nil)
	must(t, err)
	if len(asked) != 1 || asked[0].SessionID != "s1" || asked[0].Command != "echo hi" || !strings.HasPrefix(asked[0].Summary, "child agent: ") {
		t.Errorf("%+v", asked)
	}
}

// Stopping the turn stops the children it waits for, and an asynchronous one goes on.
func TestStopReachesChildrenThatAreWaitedFor(t *testing.T) {
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprint("async ", async), func(t *testing.T) {
			m := startModel(t)
			r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
			gate, held := make(chan struct{}), make(chan struct{})
			open := sync.OnceFunc(func() { close(gate) })
			defer open()
			m.Respond(answers{
				"go":          delegates(fmt.Sprintf(`{"goal":"slow","async":%v}`, async)),
				"slow":        fakemodel.Turn{Text: "finished", Gate: gate},
				"after tools": fakemodel.Turn{Text: "late", Gate: held},
			}.respond)
			defer close(held)
			done := make(chan error, 1)
			go func() {
				_, err := r.say("s1", "go")
				done <- err
			}()
			want := 2
			if async {
				want = 3
			}
			_, err := m.WaitRequests(ctx(t), want)
			must(t, err)
			if !r.runtime.Stop("s1") {
				t.Fatal("nothing ran")
			}
			if err := <-done; kind(t, err) != agent.KindInterrupted {
				t.Fatal(err)
			}
			if !async {
				if got := r.toolResults("s1"); len(got) != 1 || !strings.Contains(got[0], `"status":"interrupted"`) {
					t.Errorf("%v", got)
				}
				return
			}
			if row := r.delegation("s1"); row.State != "running" {
				t.Errorf("%+v", row)
			}
			open()
			r.untilDelivery("s1", store.DeliveryDelivered)
			if row := r.delegation("s1"); row.State != "completed" {
				t.Errorf("%+v", row)
			}
		})
	}
}

// S-206: what was not waited for comes back as a turn of its own when the session is idle, and never inside a turn.
func TestS206NewTurnWhenIdle(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	slow, busy := make(chan struct{}), make(chan struct{})
	m.Respond(answers{
		"go":     delegates(`{"goal":"slow","async":true}`),
		"slow":   fakemodel.Turn{Text: "found 42", Gate: slow},
		"talk":   fakemodel.Turn{Text: "talked", Gate: busy},
		"notice": fakemodel.Text("it is 42"),
	}.respond)
	r.mustSay("s1", "go")
	row := r.delegation("s1")
	if row.State != "running" || row.ParentSessionID != "s1" || row.OwnerPID == 0 || row.OwnerStartedAt == 0 || !strings.Contains(string(row.Task), `"goal":"slow"`) {
		t.Fatalf("S-202 %+v", row)
	}
	var mu sync.Mutex
	var seen []agent.EventKind
	stop := r.runtime.Follow("s1", func(e agent.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e.Kind)
	})
	defer stop()
	talked := make(chan error, 1)
	go func() {
		_, err := r.say("s1", "talk")
		talked <- err
	}()
	_, err := m.WaitRequests(ctx(t), 4)
	must(t, err)
	close(slow)
	until(t, "the end of the child", func() bool { return r.delegation("s1").State == "completed" })
	if row := r.delegation("s1"); row.DeliveryState != store.DeliveryPending || row.Attempts != 0 || r.roles("s1") != "uatau" {
		t.Errorf("S-206 while a turn runs: %+v, %s", row, r.roles("s1"))
	}
	close(busy)
	must(t, <-talked)
	r.untilDelivery("s1", store.DeliveryDelivered)
	rows := r.rows("s1")
	if r.roles("s1") != "uatauaua" {
		t.Fatalf("S-206 %s", r.roles("s1"))
	}
	notice, reply := rows[6], rows[7]
	if notice.DisplayKind != agent.DisplayNotice || !strings.Contains(notice.Content, "found 42") || notice.PlatformMessageID != "delegation:"+row.ID ||
		!strings.Contains(string(notice.DisplayMetadata), row.ID) || reply.Content != "it is 42" {
		t.Errorf("S-206 %+v\n%+v", notice, reply)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) == 0 || seen[len(seen)-1] != agent.EventDone {
		t.Errorf("followers saw %v", seen)
	}
}

// T-262: at the capacity the tool refuses, and says what to do.
func TestT262CapacityOfTheTool(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, map[string]any{"delegation": map[string]any{"max_concurrent_children": 1}}))
	gate := make(chan struct{})
	m.Respond(answers{
		"go": delegates(`{"goal":"slow","async":true}`), "slow": fakemodel.Turn{Text: "x", Gate: gate},
	}.respond)
	r.mustSay("s1", "go")
	r.mustSay("s2", "go")
	if got := r.toolResults("s2"); !strings.Contains(got[0], "max_concurrent_children") {
		t.Errorf("T-262 %v", got)
	}
	if rows, err := r.runtime.Delegations(ctx(t), "s2"); err != nil || len(rows) != 0 {
		t.Errorf("T-262 queued: %v, %v", rows, err)
	}
	close(gate)
	r.untilDelivery("s1", store.DeliveryDelivered)
	r.mustSay("s3", "go")
	r.untilDelivery("s3", store.DeliveryDelivered)
}

// T-261 and S-205: a child of a running batch that has failed is on the row, which is neither claimed nor told.
func TestT261FailureInARunningBatch(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	gate := make(chan struct{})
	m.Respond(answers{
		"go":   delegates(`{"tasks":[{"goal":"bad"},{"goal":"slow"}],"async":true}`),
		"bad":  fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Message: "no"}},
		"slow": fakemodel.Turn{Text: "fine", Gate: gate},
	}.respond)
	r.mustSay("s1", "go")
	until(t, "the failure on the row", func() bool { return strings.Contains(string(r.delegation("s1").Result), `"status":"error"`) })
	if row := r.delegation("s1"); row.State != "running" || row.DeliveryState != store.DeliveryPending || row.Attempts != 0 || row.Claim != "" || row.Event != nil {
		t.Errorf("T-261 %+v", row)
	}
	close(gate)
	r.untilDelivery("s1", store.DeliveryDelivered)
	if n := strings.Count(r.roles("s1"), "u"); n != 2 {
		t.Errorf("S-205: a batch has one event, not %d turns", n-1)
	}
}

// T-252: a conversation that a person ended is told nothing.
func TestT252BoundaryDrops(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	gate := make(chan struct{})
	m.Respond(answers{"go": delegates(`{"goal":"slow","async":true}`), "slow": fakemodel.Turn{Text: "x", Gate: gate}}.respond)
	r.mustSay("s1", "go")
	next, err := r.runtime.BeginSession(ctx(t), Begin{From: "s1"})
	must(t, err)
	close(gate)
	r.untilDelivery("s1", store.DeliveryDropped)
	if r.roles("s1") != "uata" || r.roles(next.ID) != "" {
		t.Errorf("T-252 %s, %s", r.roles("s1"), r.roles(next.ID))
	}
	if row := r.delegation("s1"); !strings.Contains(string(row.Result), `"summary":"x"`) {
		t.Errorf("T-252 the result is gone: %+v", row)
	}
	// Deleting the conversation takes along what it delegated.
	gone, err := r.runtime.DeleteSession(ctx(t), "s1", false)
	must(t, err)
	rows, err := r.runtime.Delegations(ctx(t), "")
	if err != nil || len(rows) != 0 || len(gone.Sessions) != 2 {
		t.Errorf("deleted %v, %d rows left, %v", gone.Sessions, len(rows), err)
	}
}

// T-251: a chat whose session ended by itself is told in the one it is in now.
func TestT251CurrentSessionOfTheChat(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	gate := make(chan struct{})
	m.Respond(answers{"go": delegates(`{"goal":"slow","async":true}`), "slow": fakemodel.Turn{Text: "x", Gate: gate}}.respond)
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s1", Source: "telegram", SessionKey: "agent:alice:telegram:dm:1", UserText: "go"}, nil)
	must(t, err)
	next, err := r.runtime.BeginSession(ctx(t), Begin{From: "s1", Reason: session.EndIdle})
	must(t, err)
	close(gate)
	r.untilDelivery("s1", store.DeliveryDelivered)
	if r.roles("s1") != "uata" || r.roles(next.ID) != "ua" {
		t.Errorf("T-251 %s, %s", r.roles("s1"), r.roles(next.ID))
	}
}

// Closing the profile interrupts what runs; the next start says so in the session.
func TestCloseInterruptsAndTheNextStartTells(t *testing.T) {
	m := startModel(t)
	root := t.TempDir()
	spec := withConfig(m, nil)
	r := openRig(t, m, root, "alice", spec)
	gate := make(chan struct{})
	defer close(gate)
	m.Respond(answers{"go": delegates(`{"goal":"slow","async":true}`), "slow": fakemodel.Turn{Gate: gate}}.respond)
	r.mustSay("s1", "go")
	_, err := m.WaitRequests(ctx(t), 3)
	must(t, err)
	must(t, r.runtime.Close(ctx(t)))
	again := openRig(t, m, root, "alice", spec)
	if row := again.delegation("s1"); row.State != "interrupted" || row.DeliveryState != store.DeliveryPending {
		t.Fatalf("%+v", row)
	}
	again.runtime.CheckStore(ctx(t))
	again.untilDelivery("s1", store.DeliveryDelivered)
	if rows := again.rows("s1"); len(rows) != 6 || !strings.Contains(rows[4].Content, "Status: interrupted") {
		t.Errorf("%d rows", len(rows))
	}
}
