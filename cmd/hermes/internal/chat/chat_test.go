package chat

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestOnceIntoAPipe: only the final reply goes to the output; what tools do and a void attempt do not.
func TestOnceIntoAPipe(t *testing.T) {
	r := newRig(t)
	r.model.Script(
		fakemodel.Turn{Text: "Let me look.", ToolCalls: []fakemodel.ToolCall{call("1", "list_dir", `{"path":"."}`)}},
		fakemodel.Turn{Text: "half of a long answer", Fault: fakemodel.Fault{TruncateAfter: 400}},
		fakemodel.Text("It is empty."))
	answer, err := r.chat.Once(ctx(t), "what is here?", false)
	must(t, err)
	if r.out.String() != "It is empty.\n" || answer.Reply != "It is empty." || answer.ToolCalls != 1 || answer.ModelCalls != 2 || answer.Usage == nil || answer.Session == "" || answer.Error != nil {
		t.Errorf("out %q, %+v", r.out.String(), answer)
	}
	for _, want := range []string{"Let me look.", "• list_dir", "✓ list_dir", "! the model broke off"} {
		if !strings.Contains(r.notes.String(), want) {
			t.Errorf("notes lack %q: %s", want, r.notes.String())
		}
	}
	if strings.Contains(r.notes.String(), "\x1b") {
		t.Error("colours without a terminal")
	}
}

// TestOnceLive shows text as it comes, and says that a broken attempt is void.
func TestOnceLive(t *testing.T) {
	r := newRig(t)
	r.chat.Live, r.chat.Notes = true, &r.out
	r.model.Script(fakemodel.Turn{Text: "half of a long answer", Fault: fakemodel.Fault{TruncateAfter: 400}}, fakemodel.Text("\x1b]52;c;aGk=\x07Done."))
	_, err := r.chat.Once(ctx(t), "go", false)
	must(t, err)
	got := r.out.String()
	if !strings.HasPrefix(got, "half") || !strings.Contains(got, "\n! the model broke off") || !strings.Contains(got, "what it said is void") || !strings.HasSuffix(got, "^[]52;c;aGk=^GDone.\n") {
		t.Errorf("%q", got)
	}
}

func TestApprovalsInChat(t *testing.T) {
	for name, c := range map[string]struct {
		yes     bool
		answers []string
		noLines bool
		runs    bool
		notes   string
	}{
		"yes":             {yes: true, runs: true, noLines: true, notes: "approved by --yes: echo ran"},
		"nobody":          {noLines: true, notes: "spec.approvals.allow of profile alice"},
		"once":            {answers: []string{"what?", "o"}, runs: true, notes: "please answer"},
		"session":         {answers: []string{"SESSION"}, runs: true, notes: "    echo ran"},
		"always":          {answers: []string{" a "}, runs: true, notes: "    echo ran"},
		"deny":            {answers: []string{"d"}, notes: "    echo ran"},
		"deny in words":   {answers: []string{"d"}, notes: "ms: denied by the user"},
		"end of input":    {notes: "    echo ran"},
		"empty is no yes": {answers: []string{"", ""}, notes: "please answer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.chat.Yes = c.yes
			if !c.noLines {
				r.chat.Lines = &typed{answers: c.answers}
			}
			r.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"echo ran"}`)), fakemodel.Text("done"))
			_, err := r.chat.Once(ctx(t), "go", false)
			must(t, err)
			ms := r.model.Requests()[1].Parsed.Decoded()
			if ran := strings.HasPrefix(ms[len(ms)-1].Content, "ran"); ran != c.runs {
				t.Errorf("result %q", ms[len(ms)-1].Content)
			}
			if !strings.Contains(r.notes.String(), c.notes) {
				t.Errorf("notes %q", r.notes.String())
			}
		})
	}
}

// TestInterruptedTurn: Ctrl-C keeps what was stored, says how to go on, and the session is free at once.
func TestInterruptedTurn(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Calls(call("1", "list_dir", `{"path":"."}`)), fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}})
	go func() {
		if _, err := r.model.WaitRequests(context.Background(), 2); err == nil {
			r.interrupts <- os.Interrupt
		}
	}()
	answer, err := r.chat.Once(ctx(t), "go", false)
	if err == nil || exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), "hermes chat -p alice --session "+answer.Session) {
		t.Fatalf("%v", err)
	}
	if answer.Error == nil || answer.Error.Code != "interrupted" || r.out.String() != "" {
		t.Errorf("%+v, out %q", answer, r.out.String())
	}
	s, err := r.chat.Client.Session(ctx(t), "alice", answer.Session)
	must(t, err)
	if !s.Unfinished || len(s.Transcript) != 3 {
		t.Errorf("%d rows, unfinished %v", len(s.Transcript), s.Unfinished)
	}
	r.model.Script(fakemodel.Text("finished"))
	if answer, err = r.chat.Once(ctx(t), "", true); err != nil || answer.Reply != "finished" {
		t.Errorf("%+v %v", answer, err)
	}
}

// TestInterruptAtAQuestion interrupts, and neither the model nor the person is told that the call was denied.
func TestInterruptAtAQuestion(t *testing.T) {
	r := newRig(t)
	lines := &typed{answers: []string{"^C"}}
	r.chat.Lines = lines
	r.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"echo ran"}`)), fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}})
	answer, err := r.chat.Once(ctx(t), "go", false)
	if err == nil || answer.Error.Code != "interrupted" || len(lines.asked) != 1 || !strings.Contains(lines.asked[0], "[a]lways (this exact command") {
		t.Errorf("%v, asked %q", err, lines.asked)
	}
	s, err := r.chat.Client.Session(ctx(t), "alice", answer.Session)
	must(t, err)
	if result := s.Transcript[len(s.Transcript)-1].Content; !strings.Contains(result, "interrupted") || strings.Contains(result, "denied") || len(r.model.Requests()) != 1 {
		t.Errorf("%q after %d requests", result, len(r.model.Requests()))
	}
}

// TestInterruptIsNoDecision: the answer would race with the interruption, and tell the model of a refusal.
func TestInterruptIsNoDecision(t *testing.T) {
	interrupted := 0
	c := &Chat{Notes: io.Discard, Lines: &typed{answers: []string{"^C"}}, interrupt: func() { interrupted++ }}
	if d := c.ask(ctx(t), localapi.Event{Tool: "terminal", Command: "echo ran"}); d != "" || interrupted != 1 {
		t.Errorf("decided %q, interrupted %d times", d, interrupted)
	}
}

// TestSecondInterrupt leaves without waiting for a gateway that hangs.
func TestSecondInterrupt(t *testing.T) {
	path := t.TempDir() + "/hangs.sock"
	ln, err := net.Listen("unix", path)
	must(t, err)
	accepted := make(chan net.Conn, 4)
	go func() {
		defer close(accepted)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	r := newRig(t)
	r.chat.Client = localapi.NewClient(path, "home")
	go func() {
		turn := <-accepted
		r.interrupts <- os.Interrupt
		asking := <-accepted // the gateway was asked, and hangs
		r.interrupts <- os.Interrupt
		defer turn.Close()
		defer asking.Close()
		_, _ = io.Copy(io.Discard, turn) // until it is cut
	}()
	began := time.Now()
	_, err = r.chat.Once(ctx(t), "go", false)
	if err == nil || !r.chat.leave || time.Since(began) > interruptPatience {
		t.Errorf("%v, leave %v after %s", err, r.chat.leave, time.Since(began))
	}
	must(t, ln.Close())
	r.chat.Client.Close()
}

func TestFind(t *testing.T) {
	r := newRig(t)
	if err := r.chat.Find(ctx(t), "none", false); err == nil || !strings.Contains(err.Error(), `no session "none"`) {
		t.Error(err)
	}
	if err := r.chat.Find(ctx(t), "", true); err == nil || !strings.Contains(err.Error(), "no session to continue") {
		t.Error(err)
	}
	first, err := r.chat.Once(ctx(t), "one", false)
	must(t, err)
	r.chat.Session = ""
	must(t, r.chat.Find(ctx(t), "", true))
	if r.chat.Session != first.Session {
		t.Errorf("continues %s, want %s", r.chat.Session, first.Session)
	}
}

// TestErrorsSayWhatToDo and have their exit codes.
func TestErrorsSayWhatToDo(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Status(401))
	answer, err := r.chat.Once(ctx(t), "go", false)
	if exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), "hermes status profile/alice") || answer.Error.Code != "credential_refused" {
		t.Errorf("%v", err)
	}
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "x", Gate: gate})
	first := make(chan error, 1)
	n := len(r.model.Requests())
	go func() {
		_, err := r.chat.Once(ctx(t), "go", false)
		first <- err
	}()
	_, err = r.model.WaitRequests(ctx(t), n+1)
	must(t, err)
	second := *r.chat
	if _, err := second.Once(ctx(t), "go", false); exit.Code(err) != exit.TryAgain {
		t.Errorf("busy session: %v", err)
	}
	close(gate)
	must(t, <-first)
}

func TestLoop(t *testing.T) {
	r := newRig(t)
	r.model.Title(fakemodel.Text("\"\"")) // no title: the immediate one stays
	r.chat.Live = true
	r.chat.Lines = &typed{lines: []string{"", "one\\", "two", "/sessions", "/nonsense", "/new", "three", "^C", "/resume none", "/help", "^C", "^C", "never said"}}
	must(t, r.chat.Loop(ctx(t)))
	requests := r.model.Requests()
	if len(requests) != 2 || !strings.Contains(r.out.String(), "you said: one\ntwo\n") {
		t.Errorf("%d requests, out %q", len(requests), r.out.String())
	}
	if ms := requests[1].Parsed.Decoded(); len(ms) != 2 || ms[1].Content != "three" {
		t.Errorf("/new did not begin a session: %+v", ms)
	}
	for _, want := range []string{"2 messages  one\n", "no command /nonsense", `no session "none"`, "/resume [SESSION]", "Ctrl-C again"} {
		if !strings.Contains(r.notes.String(), want) {
			t.Errorf("notes lack %q: %s", want, r.notes.String())
		}
	}
}

// TestLoopFinishesAnInterruptedTurn when its session is resumed.
func TestLoopFinishesAnInterruptedTurn(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Status(401), fakemodel.Text("late reply"))
	answer, err := r.chat.Once(ctx(t), "question", false)
	if err == nil {
		t.Fatal("no error")
	}
	r.chat.Session, r.chat.Live = "", true
	r.chat.Lines = &typed{lines: []string{"/resume " + answer.Session}}
	must(t, r.chat.Loop(ctx(t)))
	if r.out.String() != "late reply\n" || !strings.Contains(r.notes.String(), "user: question") {
		t.Errorf("out %q, notes %q", r.out.String(), r.notes.String())
	}
}

// TestPlainWordsLeave: quit and exit alone end the conversation, and are said to nobody.
func TestPlainWordsLeave(t *testing.T) {
	for _, word := range []string{"quit", "exit", " Exit "} {
		r := newRig(t)
		r.chat.Lines = &typed{lines: []string{word, "never said"}}
		must(t, r.chat.Loop(ctx(t)))
		if n := len(r.model.Requests()); n != 0 {
			t.Errorf("%q: %d requests", word, n)
		}
	}
}

func TestLoopEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	ending, end := context.WithCancel(ctx(t))
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn {
		end()
		return fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}}
	})
	r.chat.Lines = &typed{lines: []string{"one", "two"}}
	if err := r.chat.Loop(ending); !errors.Is(err, context.Canceled) || len(r.model.Requests()) != 1 {
		t.Errorf("%v after %d requests", err, len(r.model.Requests()))
	}
}
