package localapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func TestStream(t *testing.T) {
	r := newRig(t)
	r.model.Script(
		fakemodel.Turn{Text: "Let me look. ", ToolCalls: []fakemodel.ToolCall{call("1", "list_dir", `{"path":"."}`)}},
		fakemodel.Turn{Text: "It is empty, é.", Reasoning: "hm", ChunkSize: 1, Usage: fakemodel.Usage{Prompt: 7, Completion: 5}})
	var text, reasoning string
	var events []string
	final, err := r.client.Stream(ctx(t), say(idOf("s"), "what is here?"), func(i localapi.StreamItem) {
		text += i.Text
		reasoning += i.Reasoning
		if i.Event != nil {
			events = append(events, i.Event.Type)
		}
	})
	must(t, err)
	if final.Reply != "It is empty, é." || final.Session != idOf("s") || final.FinishReason != "stop" || final.Info.ModelCalls != 2 || final.Info.ToolCalls != 1 || final.Usage.CompletionTokens == 0 {
		t.Errorf("%+v", final)
	}
	if text != "Let me look. It is empty, é." || reasoning != "hm" || strings.Join(events, " ") != "session title tool_start tool_end done" {
		t.Errorf("text %q, reasoning %q, events %v", text, reasoning, events)
	}
	if got := r.roles(idOf("s")); got != "uata" {
		t.Errorf("rows %s", got)
	}
}

func TestWholeAndSessions(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Text("one"))
	got, err := r.client.Complete(ctx(t), say("", "hello"))
	must(t, err)
	if got.Choices[0].Message.Content != "one" || *got.Choices[0].FinishReason != "stop" || got.Hermes.Session == "" || got.Usage.TotalTokens == 0 {
		t.Errorf("%+v", got)
	}
	first := got.Hermes.Session
	_, err = r.client.Complete(ctx(t), say(first, "again"))
	must(t, err)
	_, err = r.client.Complete(ctx(t), say(idOf("second"), "hello"))
	must(t, err)
	list, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{Source: "cli", Limit: 5})
	must(t, err)
	if len(list) != 2 || list[0].ID != idOf("second") || list[1].ID != first || list[1].Messages != 4 {
		t.Errorf("%+v", list)
	}
	if list, err := r.client.Sessions(ctx(t), "alice", localapi.SessionFilter{Source: "cron"}); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	s, err := r.client.Session(ctx(t), "alice", first)
	must(t, err)
	if s.Unfinished || len(s.Transcript) != 4 || s.Transcript[2].Content != "again" {
		t.Errorf("%+v", s)
	}
	if _, err := r.client.Session(ctx(t), "alice", "no/such session"); apiError(t, err).Status != 404 {
		t.Error(err)
	}
	names, err := r.client.Models(ctx(t))
	if err != nil || strings.Join(names, " ") != "alice" {
		t.Errorf("%v %v", names, err)
	}
}

// TestHistory: a client that keeps its own history begins a session with it, once; a session it names goes on.
func TestHistory(t *testing.T) {
	r := newRig(t)
	req := say(idOf("kept"), "three")
	req.Messages = append([]localapi.RequestMessage{
		{Role: "system", Content: "Answer in French."}, {Role: "user", Content: "one"}, {Role: "assistant", Content: "two"},
	}, req.Messages...)
	for range 2 {
		_, err := r.client.Complete(ctx(t), req)
		must(t, err)
	}
	if got := r.roles(idOf("kept")); got != "uauaua" {
		t.Errorf("rows %s", got)
	}
	ms := r.model.Requests()[0].Parsed.Decoded()
	if len(ms) != 4 || !strings.Contains(ms[1].Content, "Answer in French.") || !strings.HasSuffix(ms[1].Content, "one") || ms[3].Content != "three" {
		t.Errorf("%+v", ms)
	}
}

// TestFailures maps each way a turn can fail to its status and code, streamed and whole.
func TestFailures(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		turn   fakemodel.Turn
		status int
		code   string
		retry  int64
	}{
		"401":       {fakemodel.Status(401), 502, "credential_refused", 0},
		"429":       {fakemodel.RateLimit("120"), 429, "rate_limited", 120},
		"500":       {fakemodel.Status(500), 502, "model_failed:server_error", 0},
		"503":       {fakemodel.Status(503), 502, "model_failed:overloaded", 0},
		"timeout":   {fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}}, 502, "model_failed:timeout", 0},
		"malformed": {fakemodel.Turn{Text: "some text", Fault: fakemodel.Fault{Malformed: true}}, 502, "model_failed:server_error", 0},
		"truncated": {fakemodel.Turn{Text: "some text", Fault: fakemodel.Fault{NoFinish: true}}, 502, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, how := range []string{"whole", "stream"} {
				r.model.Script(c.turn, c.turn) // one retry
				if name == "truncated" {
					r.model.Script(c.turn) // and one on a new connection
				}
				session := idOf(name + "-" + how)
				var err error
				if how == "whole" {
					_, err = r.client.Complete(ctx(t), say(session, "hello"))
				} else {
					var final localapi.Final
					final, err = r.client.Stream(ctx(t), say(session, "hello"), nothing)
					if final.Reply != "" && name != "truncated" && name != "malformed" {
						t.Errorf("a reply: %q", final.Reply)
					}
				}
				e := apiError(t, err)
				if (e.Status != c.status && e.Status != 0) || !strings.HasPrefix(e.Code, c.code) || e.Message == "" || strings.Contains(e.Message, "sk-alice") {
					t.Errorf("%s: %d %s %q, want %d %s", how, e.Status, e.Code, e.Message, c.status, c.code)
				}
				if e.RetryAfter < c.retry-1 || e.RetryAfter > c.retry {
					t.Errorf("%s: retry after %d", how, e.RetryAfter)
				}
				if got := r.roles(session); got != "u" {
					t.Errorf("%s: rows %s", how, got)
				}
				r.model.Respond(nil)
				drain(r.model)
			}
		})
	}
}

// drain uses up what a turn left of the script.
func drain(m *fakemodel.Server) {
	for {
		resp, err := http.Post(m.URL()+"/chat/completions", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"drain"}]}`))
		if err != nil {
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(body), "you said: drain") {
			return
		}
	}
}

// TestRetryVoidsText: what a broken attempt said is not the reply, and a client of events is told.
func TestRetryVoidsText(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Turn{Text: "half of a long answer", Fault: fakemodel.Fault{TruncateAfter: 400}}, fakemodel.Text("the whole answer"))
	var order []string
	final, err := r.client.Stream(ctx(t), say(idOf("s"), "hello"), func(i localapi.StreamItem) {
		switch {
		case i.Event != nil:
			order = append(order, i.Event.Type)
		case len(order) == 0 || order[len(order)-1] != "text":
			order = append(order, "text")
		}
	})
	must(t, err)
	if final.Reply != "the whole answer" || strings.Join(order, " ") != "session title text retry text done" {
		t.Errorf("%+v %v", final, order)
	}
}

func TestApprovals(t *testing.T) {
	for decision, c := range map[string]struct{ result, rows string }{
		"once":    {"ok", "uata"},
		"session": {"ok", "uata"},
		"always":  {"ok", "uata"},
		"deny":    {"denied by the user", "uata"},
		"nobody":  {"nobody is present", "uata"},
	} {
		t.Run(decision, func(t *testing.T) {
			r := newRig(t)
			r.askFirst()
			r.model.Script(fakemodel.Calls(call("c/1", "terminal", `{"command":"echo ok"}`)), fakemodel.Text("done"))
			var asked, answered localapi.Event
			_, err := r.client.Stream(ctx(t), say(idOf("s"), "go"), func(i localapi.StreamItem) {
				if i.Event == nil {
					return
				}
				switch i.Event.Type {
				case "approval":
					asked = *i.Event
					if err := r.client.Decide(ctx(t), "alice", idOf("s"), asked.CallID, "maybe"); apiError(t, err).Status != 400 {
						t.Error(err)
					}
					if err := r.client.Decide(ctx(t), "bob", idOf("s"), asked.CallID, "once"); apiError(t, err).Status != 404 {
						t.Error(err)
					}
					must(t, r.client.Decide(ctx(t), "alice", idOf("s"), asked.CallID, decision))
				case "approval_done":
					answered = *i.Event
				}
			})
			must(t, err)
			if asked.Command != "echo ok" || asked.Reason == "" {
				t.Errorf("asked %+v", asked)
			}
			if want := strings.Replace(decision, "nobody", "deny", 1); answered.Decision != want {
				t.Errorf("answered %q", answered.Decision)
			}
			s, err := r.client.Session(ctx(t), "alice", idOf("s"))
			must(t, err)
			if got := s.Transcript[2].Content; !strings.Contains(got, c.result) {
				t.Errorf("result %q", got)
			}
			if err := r.client.Decide(ctx(t), "alice", idOf("s"), asked.CallID, "once"); apiError(t, err).Code != "no_such_approval" {
				t.Errorf("a second answer: %v", err)
			}
		})
	}
}

// TestApprovalsBelongToAProfile: sessions and calls of the same name in two profiles are two questions.
func TestApprovalsBelongToAProfile(t *testing.T) {
	r := newRig(t)
	r.askFirst()
	bob := profilehome.Model(r.model.URL(), "sk-bob")
	bob.Config["approvals"] = map[string]any{"mode": "ask"}
	r.openProfile("bob", bob)
	r.model.Respond(func(q fakemodel.Request) fakemodel.Turn {
		if ms := q.Parsed.Decoded(); ms[len(ms)-1].Role == "tool" {
			return fakemodel.Text(ms[len(ms)-1].Content)
		}
		return fakemodel.Calls(call("1", "terminal", `{"command":"echo ok"}`))
	})
	both := make(chan struct{}, 2)
	answers := make(chan string, 2)
	for name, decision := range map[string]string{"alice": "deny", "bob": "once"} {
		go func() {
			req := say(idOf("s"), "go")
			req.Model = name
			final, err := r.client.Stream(ctx(t), req, func(i localapi.StreamItem) {
				if i.Event != nil && i.Event.Type == "approval" {
					both <- struct{}{}
					for len(both) < 2 { // both questions wait
						if ctx(t).Err() != nil {
							return
						}
					}
					if err := r.client.Decide(ctx(t), name, idOf("s"), "1", decision); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
			answers <- name + " " + final.Reply
		}()
	}
	for range 2 {
		a := <-answers
		if strings.HasPrefix(a, "alice") != strings.Contains(a, "denied by the user") {
			t.Error(a)
		}
	}
}

// TestClientGone: a client that goes away while it is asked denies; the rows stay and the session goes on.
func TestClientGone(t *testing.T) {
	r := newRig(t)
	r.askFirst()
	r.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"echo ok"}`)), fakemodel.Text("resumed"))
	leaving, leave := context.WithCancel(ctx(t))
	_, err := r.client.Stream(leaving, say(idOf("s"), "go"), func(i localapi.StreamItem) {
		if i.Event != nil && i.Event.Type == "approval" {
			leave()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.settled(idOf("s"))
	if s, err := r.client.Session(ctx(t), "alice", idOf("s")); err != nil || !s.Unfinished {
		t.Errorf("%+v %v", s, err)
	}
	req := say(idOf("s"), "")
	req.Messages, req.Hermes.Resume = nil, true
	final, err := r.client.Stream(ctx(t), req, nothing)
	must(t, err)
	if final.Reply != "resumed" || r.roles(idOf("s")) != "uata" {
		t.Errorf("%+v, rows %s", final, r.roles(idOf("s")))
	}
}

// settled waits until nobody answers in a session any more.
func (r *rig) settled(session string) {
	r.t.Helper()
	deadline := ctx(r.t)
	p, _ := r.Profile("alice")
	for p.Stop(session) {
		if deadline.Err() != nil {
			r.t.Fatal("the turn does not end")
		}
	}
}

// TestInterrupt by request, and by leaving: what was stored stays.
func TestInterrupt(t *testing.T) {
	for _, how := range []string{"request", "leave"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.model.Script(fakemodel.Calls(call("1", "list_dir", `{"path":"."}`)), fakemodel.Turn{Text: "partial text that is long enough", Fault: fakemodel.Fault{StallAfter: 400}})
			leaving, leave := context.WithCancel(ctx(t))
			defer leave()
			_, err := r.client.Stream(leaving, say(idOf("s"), "go"), func(i localapi.StreamItem) {
				switch {
				case i.Text == "":
				case how == "leave":
					leave()
				default:
					if ok, err := r.client.Interrupt(ctx(t), "alice", idOf("s")); err != nil {
						t.Error(ok, err)
					}
				}
			})
			if how == "request" && apiError(t, err).Code != "interrupted" || how == "leave" && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			r.settled(idOf("s"))
			if got := r.roles(idOf("s")); got != "uat" {
				t.Errorf("rows %s", got)
			}
			if _, err := r.client.Complete(ctx(t), say(idOf("s"), "go on")); err != nil {
				t.Error(err)
			}
			if ok, err := r.client.Interrupt(ctx(t), "alice", idOf("s")); ok || err != nil {
				t.Errorf("interrupt without a turn: %v %v", ok, err)
			}
		})
	}
}

// TestBusySession is refused before anything of it is stored.
func TestBusySession(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "first", Gate: gate})
	first := make(chan error, 1)
	go func() {
		_, err := r.client.Complete(ctx(t), say(idOf("s"), "one"))
		first <- err
	}()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	if _, err := r.client.Stream(ctx(t), say(idOf("s"), "two"), nothing); apiError(t, err).Status != 409 {
		t.Error(err)
	}
	close(gate)
	must(t, <-first)
	if got := r.roles(idOf("s")); got != "ua" {
		t.Errorf("rows %s", got)
	}
}

// TestNoGateway names the profile, the socket and where to look.
func TestNoGateway(t *testing.T) {
	path := t.TempDir() + "/none.sock"
	c := localapi.NewClient(path, "home")
	_, err := c.Complete(ctx(t), say(idOf("s"), "x"))
	e := apiError(t, err)
	if e.Error() != "the gateway of profile alice does not answer at "+path+": see hermes status gateway/home" || e.Code != localapi.CodeUnreachable || !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// One that dies in the middle of an answer.
	ln, err := net.Listen("unix", path)
	must(t, err)
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n")
		conn.Close()
	}()
	_, err = c.Stream(ctx(t), say(idOf("s"), "x"), nothing)
	if e := apiError(t, err); e.Code != localapi.CodeUnreachable || !strings.Contains(e.Message, "broke off") {
		t.Error(err)
	}
}

// TestForeignSessionGoesOn: a stored session of another program keeps its own id.
func TestForeignSessionGoesOn(t *testing.T) {
	r := newRig(t)
	p, _ := r.Profile("alice")
	must(t, p.Seed(ctx(t), store.Session{ID: "theirs", Source: "import"}, []store.Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}))
	_, err := r.client.Complete(ctx(t), localapi.CompletionRequest{
		Model: "alice", Messages: []localapi.RequestMessage{{Role: "user", Content: "c"}}, Hermes: &localapi.Extension{Session: "theirs"},
	})
	must(t, err)
	if got := r.roles("theirs"); got != "uaua" {
		t.Error(got)
	}
}
