package localapi_test

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// A question of the agent takes text and nothing else, and a permission takes no text.
func TestQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		call   fakemodel.ToolCall
		answer localapi.Decision
		want   string
	}{
		"answer":               {call("c1", "clarify", `{"question":"Which?","options":["red","blue"]}`), localapi.Decision{Decision: "answer", Answer: "red"}, "The person answers: red"},
		"declined":             {call("c1", "clarify", `{"question":"Which?"}`), localapi.Decision{Decision: "deny"}, "does not want to answer"},
		"nobody":               {call("c1", "clarify", `{"question":"Which?"}`), localapi.Decision{Decision: "nobody"}, "nobody is present"},
		"a permission instead": {call("c1", "clarify", `{"question":"Which?"}`), localapi.Decision{Decision: "always"}, "a decision for a question"},
		"text for a command":   {call("c1", "terminal", `{"command":"echo ran"}`), localapi.Decision{Decision: "answer", Answer: "yes"}, "an answer for a decision"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.askFirst()
			r.model.Script(fakemodel.Calls(c.call), fakemodel.Text("done"))
			var asked localapi.Event
			var done bool
			_, err := r.client.Stream(ctx(t), say(idOf("s"), "go"), func(i localapi.StreamItem) {
				if i.Event == nil {
					return
				}
				switch i.Event.Type {
				case "question", "approval":
					asked = *i.Event
					if err := r.client.Answer(ctx(t), "alice", idOf("s"), asked.CallID, localapi.Decision{Decision: "answer"}); apiError(t, err).Status != 400 {
						t.Error(err)
					}
					must(t, r.client.Answer(ctx(t), "alice", idOf("s"), asked.CallID, c.answer))
				case "question_done", "approval_done":
					done = true
				}
			})
			must(t, err)
			if clarify := c.call.Name == "clarify"; clarify != (asked.Question == "Which?") || clarify != (asked.Type == "question") || !done {
				t.Errorf("asked %+v, done %v", asked, done)
			}
			s, err := r.client.Session(ctx(t), "alice", idOf("s"))
			must(t, err)
			if got := s.Transcript[2].Content; !strings.Contains(got, c.want) {
				t.Errorf("result %q, want %q", got, c.want)
			}
		})
	}
}

// What was allowed for always shows, says what it covers, and can be taken back while the profile is served.
func TestToolsAndRevocation(t *testing.T) {
	r := newRig(t)
	r.askFirst()
	asked := 0
	run := func() {
		t.Helper()
		r.model.Script(fakemodel.Calls(call("c1", "terminal", `{"command":"echo ran"}`)), fakemodel.Text("done"))
		_, err := r.client.Stream(ctx(t), say(idOf("s"), "go"), func(i localapi.StreamItem) {
			if i.Event != nil && i.Event.Type == "approval" {
				if asked++; i.Event.Covers != tools.ApprovalPerCommand {
					t.Errorf("covers %q", i.Event.Covers)
				}
				must(t, r.client.Decide(ctx(t), "alice", idOf("s"), i.Event.CallID, "always"))
			}
		})
		must(t, err)
	}
	run()
	run()
	o, err := r.client.Tools(ctx(t), "alice")
	must(t, err)
	if asked != 1 || !o.Served || len(o.Approvals) != 1 || o.Approvals[0].Subject != "echo ran" || len(o.Toolsets) < 20 {
		t.Fatalf("asked %d times, overview %+v", asked, o)
	}
	if err := r.client.RevokeApproval(ctx(t), "alice", "none"); apiError(t, err).Code != "no_such_approval" {
		t.Error(err)
	}
	must(t, r.client.RevokeApproval(ctx(t), "alice", o.Approvals[0].ID))
	run()
	if asked != 2 {
		t.Errorf("asked %d times after the revocation", asked)
	}
	if list, err := r.client.Processes(ctx(t), "alice"); err != nil || len(list) != 0 {
		t.Errorf("processes %v, %v", list, err)
	}
	if _, err := r.client.Tools(ctx(t), "nobody"); apiError(t, err).Status != 404 {
		t.Error(err)
	}
}
