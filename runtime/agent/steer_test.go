package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// steered runs a turn whose mailbox the test holds.
func (b *bench) steered(t agent.Turn, on func(agent.Event, *agent.Steering)) (agent.Result, error) {
	t.SessionID = "s"
	t.Steering = agent.NewSteering(b.store, "s")
	if !t.Resume {
		t.Source = "cli"
	}
	return b.loop.Run(context.Background(), t, func(e agent.Event) {
		b.record(e)
		if on != nil {
			on(e, t.Steering)
		}
	})
}

func (b *bench) add(s *agent.Steering, text string) {
	b.t.Helper()
	if ok, err := s.Add(context.Background(), text); !ok || err != nil {
		b.t.Errorf("steer %q: %v %v", text, ok, err)
	}
}

// onFirst calls f at the first event of a kind.
func onFirst(kind agent.EventKind, f func(*agent.Steering)) func(agent.Event, *agent.Steering) {
	var once sync.Once
	return func(e agent.Event, s *agent.Steering) {
		if e.Kind == kind {
			once.Do(func() { f(s) })
		}
	}
}

func (b *bench) pending() string {
	b.t.Helper()
	text, err := b.store.PendingSteer(context.Background(), "s")
	must(b.t, err)
	return text
}

// steerRows gives the texts of the steer rows and, for each, the role before it.
func (b *bench) steerRows() string {
	b.t.Helper()
	ms, err := b.store.Messages(context.Background(), "s")
	must(b.t, err)
	var out []string
	for i, m := range ms {
		if m.DisplayKind == agent.DisplaySteer {
			out = append(out, ms[i-1].Role+":"+m.Content)
		}
	}
	return strings.Join(out, " ")
}

// TestSteerDuringTools: P-35, what is said during a batch stands behind its last result, in its frame, in the very next
// request; nothing before it changes.
func TestSteerDuringTools(t *testing.T) {
	b := newBench(t)
	b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`), call("2", "list_dir", `{}`)), fakemodel.Calls(call("3", "list_dir", `{}`)), fakemodel.Text("done"))
	r, err := b.steered(agent.Turn{UserText: "go"}, onFirst(agent.EventToolStart, func(s *agent.Steering) {
		b.add(s, "  use the other file\n")
		b.add(s, "quickly")
	}))
	must(t, err)
	if b.roles() != "uattuata" || b.steerRows() != "tool:use the other file\nquickly" || r.PendingSteer != "" || b.pending() != "" {
		t.Fatalf("%+v, rows %q", r, b.rows())
	}
	rs := b.model.Requests()
	ms := rs[1].Parsed.Decoded()
	if got := ms[len(ms)-1].Content; got != agent.SteerOpening+"\nuse the other file\nquickly\n"+agent.SteerClosing {
		t.Errorf("the model got %q", got)
	}
	for i, r := range rs {
		legal(t, r.Parsed.Decoded())
		if i > 0 && !bytes.HasPrefix(r.Body, bytes.TrimSuffix(rs[i-1].Body, []byte("]}"))) {
			t.Errorf("request %d does not start with the one before", i)
		}
	}
	events := 0
	for _, e := range b.events {
		if e.Kind == agent.EventSteer && e.Text == "use the other file\nquickly" {
			events++
		}
	}
	if events != 1 {
		t.Errorf("%d steer events", events)
	}
}

// TestSteerWithoutTools: PA-31, a turn without tool calls hands it back, and takes no more afterwards.
func TestSteerWithoutTools(t *testing.T) {
	b := newBench(t)
	var mailbox *agent.Steering
	r, err := b.steered(agent.Turn{UserText: "hello"}, onFirst(agent.EventText, func(s *agent.Steering) {
		mailbox = s
		b.add(s, "wait")
	}))
	must(t, err)
	if r.PendingSteer != "wait" || b.roles() != "ua" || b.pending() != "" {
		t.Fatalf("%+v, rows %q, pending %q", r, b.rows(), b.pending())
	}
	if ok, err := mailbox.Add(context.Background(), "too late"); ok || err != nil || b.pending() != "" {
		t.Errorf("after the turn: %v %v", ok, err)
	}
	if _, err := mailbox.Add(context.Background(), " \n"); !errors.Is(err, agent.ErrNoText) {
		t.Error(err)
	}
}

// TestSteerStaysInItsTurn: P-36 and P-37, with tool results only in earlier turns it waits for this turn's first batch.
func TestSteerStaysInItsTurn(t *testing.T) {
	b := newBench(t)
	b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("first"),
		fakemodel.Calls(call("2", "list_dir", `{}`)), fakemodel.Text("second"))
	b.mustSay("one")
	turn := agent.Turn{SessionID: "s", Source: "cli", UserText: "two", Steering: agent.NewSteering(b.store, "s")}
	b.add(turn.Steering, "early") // accepted before the turn has begun
	r, err := b.loop.Run(context.Background(), turn, nil)
	must(t, err)
	if b.roles() != "uatauatua" || b.steerRows() != "tool:early" || r.PendingSteer != "" {
		t.Fatalf("%+v, rows %q", r, b.rows())
	}
}

// TestSteerOutlivesFailure: case 105 (L18), a steer that comes during a back-off is in the turn; one in a turn that
// fails is in the next; and a stop drops it and ends the back-off at once.
func TestSteerOutlivesFailure(t *testing.T) {
	t.Run("back-off", func(t *testing.T) {
		b := newBench(t, func(_ *agent.Config, _ *tools.Config, o *llm.Options) { o.Policy.MaxRetries = 1 })
		b.model.Script(fakemodel.Status(500), fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("done"))
		_, err := b.steered(agent.Turn{UserText: "go"}, onFirst(agent.EventRetry, func(s *agent.Steering) { b.add(s, "hint") }))
		must(t, err)
		if b.roles() != "uatua" || b.steerRows() != "tool:hint" {
			t.Fatalf("rows %q", b.rows())
		}
	})
	t.Run("failed turn", func(t *testing.T) {
		b := newBench(t)
		b.model.Script(fakemodel.Status(500), fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("done"))
		turn := agent.Turn{SessionID: "s", Source: "cli", UserText: "go", Steering: agent.NewSteering(b.store, "s")}
		b.add(turn.Steering, "hint")
		_, err := b.loop.Run(context.Background(), turn, nil)
		if kindOf(t, err).Kind != agent.KindModel || b.pending() != "hint" {
			t.Fatalf("%v, pending %q", err, b.pending())
		}
		_, err = b.steered(agent.Turn{Resume: true}, nil)
		must(t, err)
		if b.roles() != "uatua" || b.steerRows() != "tool:hint" || b.pending() != "" {
			t.Fatalf("rows %q", b.rows())
		}
	})
	t.Run("stop", func(t *testing.T) {
		b := newBench(t, func(_ *agent.Config, _ *tools.Config, o *llm.Options) {
			o.Policy = llm.Policy{MaxRetries: 3, MaxWait: time.Hour, Base: time.Minute, Cap: time.Minute}
		})
		b.model.Script(fakemodel.Status(503))
		var stopped time.Time
		_, err := b.steered(agent.Turn{UserText: "go"}, onFirst(agent.EventRetry, func(s *agent.Steering) {
			b.add(s, "hint")
			stopped = time.Now()
			b.loop.Stop("s")
		}))
		if e := kindOf(t, err); e.Kind != agent.KindInterrupted || time.Since(stopped) > 300*time.Millisecond {
			t.Errorf("case 105: %v after %s", err, time.Since(stopped))
		}
		if b.pending() != "" || b.roles() != "u" {
			t.Errorf("pending %q, rows %q", b.pending(), b.rows())
		}
	})
}

// TestSteersAreAllKept: PA-33, 200 at once; PA-34, one that comes while another could not be stored as a row.
func TestSteersAreAllKept(t *testing.T) {
	b := newBench(t)
	_, _, err := b.store.EnsureSession(context.Background(), store.Session{ID: "s", Source: "cli"})
	must(t, err)
	b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("done"))
	_, err = b.steered(agent.Turn{UserText: "go"}, onFirst(agent.EventToolStart, func(s *agent.Steering) {
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() { b.add(s, fmt.Sprintf("<%d>", i)) })
		}
		wg.Wait()
	}))
	must(t, err)
	for i := range 200 {
		if got := strings.Count(b.steerRows(), fmt.Sprintf("<%d>", i)); got != 1 {
			t.Fatalf("PA-33 steer %d is there %d times", i, got)
		}
	}
}

// steerFails fails the first row of a steer.
type steerFails struct {
	*store.Store
	failed bool
}

func (f *steerFails) AppendSteer(ctx context.Context, id string, m store.Message) ([]store.Message, error) {
	if !f.failed {
		f.failed = true
		return nil, store.ErrContended
	}
	return f.Store.AppendSteer(ctx, id, m)
}

func TestSteerThatCannotBeStored(t *testing.T) {
	b := newBench(t)
	b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("done"))
	mailbox := agent.NewSteering(&steerFails{Store: b.store}, "s")
	b.add(mailbox, "one")
	_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: "go", Steering: mailbox}, nil)
	if e := kindOf(t, err); e.Cause() != "session_persistence_failed:locked" || b.pending() != "one" || b.roles() != "uat" {
		t.Fatalf("%v, pending %q, rows %q", err, b.pending(), b.rows())
	}
	turn := agent.Turn{SessionID: "s", Resume: true, Steering: agent.NewSteering(b.store, "s")}
	b.add(turn.Steering, "two")
	_, err = b.loop.Run(context.Background(), turn, nil)
	must(t, err)
	if b.steerRows() != "tool:one\ntwo" {
		t.Errorf("PA-34 %q", b.steerRows())
	}
	legal(t, b.lastRequest())
}

// TestSteerAfterKill: what was acknowledged before a SIGKILL is in the turn that is resumed.
func TestSteerAfterKill(t *testing.T) {
	b := newBench(t)
	must(t, b.store.Close())
	b.model.Script(fakemodel.Calls(call("a", "list_dir", "{}"), call("b", "mark", "{}")))
	killChild(t, childSpec{Dir: b.dir, ModelURL: b.model.URL(), Steer: "other way"}, "steered", "marked")
	b.open(b.model.URL())
	b.model.Script(fakemodel.Text("going on"))
	_, err := b.steered(agent.Turn{Resume: true}, nil)
	must(t, err)
	if b.roles() != "uattua" || b.steerRows() != "tool:other way" {
		t.Fatalf("rows %q", b.rows())
	}
	legal(t, b.lastRequest())
}
