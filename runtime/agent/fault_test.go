package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// impatient makes the client notice silence quickly. Only turns that are meant to fail may use it.
func impatient(_ *agent.Config, _ *tools.Config, o *llm.Options) {
	o.Timeouts = llm.Timeouts{Connect: 5 * time.Second, FirstByte: 300 * time.Millisecond, Idle: 300 * time.Millisecond, Content: 200 * time.Millisecond}
}

// TestModelFaults: every fault ends the turn with a typed error, leaves only what was said, and the session is usable
// in the very next turn with a legal history (L2, L5).
func TestModelFaults(t *testing.T) {
	long := strings.Repeat("partial text that must not become history ", 30)
	for _, c := range []struct {
		name  string
		fault fakemodel.Fault
		kind  agent.Kind
		cause string
	}{
		{"401", fakemodel.Fault{Status: 401, Code: "invalid_api_key"}, agent.KindCredentialRefused, "credential_refused"},
		{"402", fakemodel.Fault{Status: 402}, agent.KindBilling, "billing"},
		{"429", fakemodel.Fault{Status: 429, RetryAfter: "30"}, agent.KindRateLimited, "rate_limited"},
		{"500", fakemodel.Fault{Status: 500}, agent.KindModel, "model_failed:server_error"},
		{"503", fakemodel.Fault{Status: 503}, agent.KindModel, "model_failed:overloaded"},
		{"400", fakemodel.Fault{Status: 400, Code: "context_length_exceeded"}, agent.KindModel, "model_failed:context_overflow"},
		{"slow headers", fakemodel.Fault{NoHeaders: true}, agent.KindModel, "model_failed:timeout"},
		{"slow first byte", fakemodel.Fault{NoFirstByte: true}, agent.KindModel, "model_failed:timeout"},
		{"stall", fakemodel.Fault{StallAfter: 900}, agent.KindModel, "model_failed:timeout"},
		{"truncated", fakemodel.Fault{TruncateAfter: 900}, agent.KindModel, "model_failed:timeout"},
		{"reset", fakemodel.Fault{ResetAfter: 900}, agent.KindModel, "model_failed:timeout"},
		{"malformed", fakemodel.Fault{Malformed: true}, agent.KindModel, "model_failed:server_error"},
		{"error in stream", fakemodel.Fault{StreamError: true}, agent.KindModel, "model_failed:server_error"},
		{"keepalives only", fakemodel.Fault{KeepaliveOnly: true}, agent.KindModel, "model_failed:timeout"},
		{"web page", fakemodel.Fault{ContentType: "text/html"}, agent.KindModel, "model_failed:format_error"},
		{"redirect", fakemodel.Fault{RedirectTo: "http://elsewhere.example/"}, agent.KindModel, "model_failed:format_error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, impatient)
			b.model.Script(fakemodel.Turn{Text: long, Fault: c.fault})
			_, err := b.say("first")
			e := kindOf(t, err)
			var le *llm.Error
			if e.Kind != c.kind || e.Cause() != c.cause || !errors.As(err, &le) || le.Host == "" {
				t.Fatalf("got %s: %v", e.Cause(), err)
			}
			if (c.kind == agent.KindRateLimited) != !e.RetryAt.IsZero() {
				t.Errorf("retry at %s", e.RetryAt)
			}
			if last := b.events[len(b.events)-1]; last.Kind != agent.EventError || last.Err != e {
				t.Errorf("last event %+v", last)
			}
			if b.roles() != "u" {
				t.Fatalf("rows %q", b.rows())
			}
			must(t, b.store.Close())
			b.open(b.model.URL()) // the session is usable at once, also by another process
			if r := b.mustSay("second"); r.Reply != "you said: second" {
				t.Fatalf("%+v", r)
			}
			legal(t, b.lastRequest())
			if rows := b.rows(); b.roles() != "uaua" || strings.Contains(strings.Join(rows, ""), "partial text") {
				t.Fatalf("rows %q", rows)
			}
		})
	}
}

func TestMissingCredential(t *testing.T) {
	b := newBench(t, func(_ *agent.Config, _ *tools.Config, o *llm.Options) { o.Keys = llm.StaticKeys() })
	_, err := b.say("hi")
	if e := kindOf(t, err); e.Kind != agent.KindCredentialMissing || len(b.model.Requests()) != 0 {
		t.Fatalf("%v after %d requests", err, len(b.model.Requests()))
	}
}

// TestRetriedTextIsAnnouncedVoid: what listeners saw of a failed attempt is not part of the reply.
func TestRetriedTextIsAnnouncedVoid(t *testing.T) {
	b := newBench(t, func(_ *agent.Config, _ *tools.Config, o *llm.Options) { o.Policy.MaxRetries = 1 })
	b.model.Script(fakemodel.Turn{Text: strings.Repeat("half ", 100), Fault: fakemodel.Fault{TruncateAfter: 1500}}, fakemodel.Text("whole"))
	r := b.mustSay("hi")
	seen, retries := "", 0
	for _, e := range b.events {
		seen += e.Text
		if e.Kind == agent.EventRetry {
			seen, retries = "", retries+1
		}
	}
	if r.Reply != "whole" || seen != "whole" || retries != 1 || b.roles() != "ua" {
		t.Fatalf("reply %q, seen %q, %d retries, rows %q", r.Reply, seen, retries, b.rows())
	}
}

// TestStopInStream: the partial answer is discarded (L5), the session is usable at once.
func TestStopInStream(t *testing.T) {
	b := newBench(t)
	b.model.Script(fakemodel.Turn{Text: strings.Repeat("words ", 200), Fault: fakemodel.Fault{StallAfter: 2000}})
	_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: "hi"}, func(e agent.Event) {
		if e.Kind == agent.EventText {
			b.loop.Stop("s")
		}
	})
	if e := kindOf(t, err); e.Kind != agent.KindInterrupted || !errors.Is(err, agent.ErrStopped) {
		t.Fatalf("got %v", err)
	}
	if b.roles() != "u" || b.loop.Running() != 0 || b.loop.Stop("s") {
		t.Fatalf("rows %q, running %d", b.rows(), b.loop.Running())
	}
	b.mustSay("again")
	legal(t, b.lastRequest())
}

// TestStopInTools: every call has a stored result when Run returns, and those that had not begun say so.
func TestStopInTools(t *testing.T) {
	b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) { c.ParallelTools = 1 })
	b.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"sleep 600"}`), call("2", "terminal", `{"command":"sleep 600"}`)))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := b.loop.Run(ctx, agent.Turn{SessionID: "s", Source: "cli", UserText: "hi"}, func(e agent.Event) {
		if e.Kind == agent.EventToolStart {
			cancel()
		}
	})
	if e := kindOf(t, err); e.Kind != agent.KindInterrupted || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	rows := b.rows()
	if b.roles() != "uatt" || strings.Count(strings.Join(rows, ""), "not run: the turn was interrupted") != 1 {
		t.Fatalf("rows %q", rows)
	}
	b.mustSay("again")
	legal(t, b.lastRequest())
}

func TestCancelledBeforeItBegins(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := b.loop.Run(ctx, agent.Turn{SessionID: "s", Source: "cli", UserText: "hi"}, nil)
	if e := kindOf(t, err); e.Kind != agent.KindInterrupted || len(b.rows()) != 0 {
		t.Fatalf("%v, rows %q", err, b.rows())
	}
}

// TestOneTurnPerSession: the second is refused, another session is not.
func TestOneTurnPerSession(t *testing.T) {
	b := newBench(t)
	gate := make(chan struct{})
	b.model.Script(fakemodel.Turn{Text: "slow", Gate: gate})
	done := make(chan error, 1)
	go func() { _, err := b.say("one"); done <- err }()
	_, err := b.model.WaitRequests(context.Background(), 1)
	must(t, err)
	_, err = b.say("two")
	if e := kindOf(t, err); e.Kind != agent.KindBusy {
		t.Errorf("got %v", err)
	}
	if _, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "other", Source: "cli", UserText: "x"}, nil); err != nil {
		t.Error(err)
	}
	close(gate)
	must(t, <-done)
	if b.roles() != "ua" {
		t.Fatal(b.rows())
	}
}

// failingStore fails the n-th Append, and AddUsage when usage is set.
type failingStore struct {
	*store.Store
	n     int
	usage int
	err   error
}

func (f *failingStore) Append(ctx context.Context, id string, ms ...store.Message) ([]store.Message, error) {
	if f.n--; f.n == 0 {
		return nil, f.err
	}
	return f.Store.Append(ctx, id, ms...)
}

func (f *failingStore) AddUsage(ctx context.Context, id string, u store.Usage) error {
	if f.usage--; f.usage >= 0 {
		return f.err
	}
	return f.Store.AddUsage(ctx, id, u)
}

// TestPersistenceFailure: S-114, and nothing happens after the row that could not be stored.
func TestPersistenceFailure(t *testing.T) {
	for at, want := range map[int]struct {
		requests, toolsRun int
		roles              string
	}{1: {0, 0, ""}, 2: {1, 0, "u"}, 3: {1, 1, "ua"}, 4: {2, 1, "uat"}} {
		b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) {
			c.Store = &failingStore{Store: c.Store.(*store.Store), n: at, err: store.ErrContended}
		})
		b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("reply"))
		r, err := b.say("hi")
		if e := kindOf(t, err); e.Cause() != "session_persistence_failed:locked" || r.Reply != "" {
			t.Errorf("append %d: %v", at, err)
		}
		ran := 0
		for _, e := range b.events {
			switch e.Kind {
			case agent.EventToolStart:
				ran++
			case agent.EventDone:
				t.Errorf("append %d: done was reported", at)
			}
		}
		if len(b.model.Requests()) != want.requests || ran != want.toolsRun || b.roles() != want.roles {
			t.Errorf("append %d: %d requests, %d tools, rows %q", at, len(b.model.Requests()), ran, b.rows())
		}
	}
}

// TestUsageCatchesUp: a usage row that cannot be written is written with the next one, and does not end the turn.
func TestUsageCatchesUp(t *testing.T) {
	b := newBench(t, func(c *agent.Config, _ *tools.Config, _ *llm.Options) {
		c.Store = &failingStore{Store: c.Store.(*store.Store), usage: 1, err: store.ErrContended}
	})
	b.model.Script(
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("1", "list_dir", `{}`)}, Usage: fakemodel.Usage{Prompt: 10, Completion: 1}},
		fakemodel.Turn{Text: "ok", Usage: fakemodel.Usage{Prompt: 20, Completion: 2}})
	b.mustSay("hi")
	s, _, err := b.store.Session(context.Background(), "s")
	must(t, err)
	if s.Usage.InputTokens != 30 || s.Usage.OutputTokens != 3 || s.Usage.APICalls != 2 {
		t.Fatalf("%+v", s.Usage)
	}
}
