package agent_test

import (
	"context"
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

// scriptedTools runs functions as tools.
type scriptedTools struct {
	run         func(ctx context.Context, c tools.Call) tools.Result
	interactive string
}

func (s scriptedTools) Definitions() []tools.Definition {
	return []tools.Definition{{Name: "t", Description: "test", Parameters: map[string]any{"type": "object"}}}
}
func (s scriptedTools) Interactive(name string) bool { return name == s.interactive }
func (s scriptedTools) Run(ctx context.Context, _ string, c tools.Call, _ tools.ApproveFunc) tools.Result {
	return s.run(ctx, c)
}

func withTools(s scriptedTools) option {
	return func(c *agent.Config, _ *tools.Config, _ *llm.Options) { c.Tools = s }
}

// TestResultsInCallOrder: acceptance case 98, three parallel tools that finish in reverse order (L7).
func TestResultsInCallOrder(t *testing.T) {
	after := map[string]chan struct{}{"1": make(chan struct{}), "2": make(chan struct{}), "3": make(chan struct{})}
	close(after["3"])
	next := map[string]string{"3": "2", "2": "1"}
	b := newBench(t, withTools(scriptedTools{run: func(_ context.Context, c tools.Call) tools.Result {
		<-after[c.ID] // blocks for good if the calls did not run side by side
		if n := next[c.ID]; n != "" {
			close(after[n])
		}
		return tools.Result{Content: "result " + c.ID}
	}}))
	b.model.Script(fakemodel.Calls(call("1", "t", "{}"), call("2", "t", "{}"), call("3", "t", "{}")), fakemodel.Text("ok"))
	b.mustSay("go")
	if got := strings.Join(b.rows()[2:5], " "); got != "tool:result 1 tool:result 2 tool:result 3" {
		t.Fatal(got)
	}
	legal(t, b.lastRequest())
}

// TestInteractiveRunsAlone: L7, with a tool that waits for a person among the calls nothing runs beside another.
func TestInteractiveRunsAlone(t *testing.T) {
	var mu sync.Mutex
	var order []string
	now := 0
	b := newBench(t, withTools(scriptedTools{interactive: "ask", run: func(_ context.Context, c tools.Call) tools.Result {
		mu.Lock()
		now++
		if now > 1 {
			t.Error("two at a time")
		}
		order = append(order, c.ID)
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		return tools.Result{Content: "x"}
	}}))
	b.model.Script(fakemodel.Calls(call("1", "t", "{}"), call("2", "ask", "{}"), call("3", "t", "{}")), fakemodel.Text("ok"))
	b.mustSay("go")
	if strings.Join(order, "") != "123" {
		t.Fatal(order)
	}
}

// TestNoToolOutlivesItsTurn: when a result cannot be stored, Run waits for the calls that still run.
func TestNoToolOutlivesItsTurn(t *testing.T) {
	cancelled, release := make(chan struct{}), make(chan struct{})
	b := newBench(t, withTools(scriptedTools{run: func(ctx context.Context, c tools.Call) tools.Result {
		if c.ID == "slow" {
			<-ctx.Done()
			close(cancelled)
			<-release
		}
		return tools.Result{Content: "x"}
	}}), func(c *agent.Config, _ *tools.Config, _ *llm.Options) {
		c.Store = &failingStore{Store: c.Store.(*store.Store), n: 3, err: store.ErrContended}
	})
	b.model.Script(fakemodel.Calls(call("1", "t", "{}"), call("slow", "t", "{}")))
	done := make(chan error, 1)
	go func() { _, err := b.say("go"); done <- err }()
	<-cancelled
	select {
	case <-done:
		t.Error("Run returned while a tool was running")
		close(release)
		return
	case <-time.After(50 * time.Millisecond): // that nothing happens cannot be waited for otherwise
	}
	close(release)
	if e := kindOf(t, <-done); e.Kind != agent.KindPersistence {
		t.Error(e)
	}
}

// TestPanicReachesTheCaller: the agent does not recover; a panic beside other tools arrives on the goroutine of Run
// after the others have ended, with what was finished stored.
func TestPanicReachesTheCaller(t *testing.T) {
	for name, calls := range map[string][]fakemodel.ToolCall{
		"inline":   {call("boom", "t", "{}")},
		"parallel": {call("1", "t", "{}"), call("boom", "t", "{}"), call("wait", "t", "{}")},
	} {
		t.Run(name, func(t *testing.T) {
			ended, began := len(calls) == 1, make(chan struct{})
			b := newBench(t, withTools(scriptedTools{run: func(ctx context.Context, c tools.Call) tools.Result {
				switch c.ID {
				case "boom":
					if len(calls) > 1 {
						<-began // a panic ends the others at once: one that has not begun would not begin
					}
					panic("tool bug")
				case "wait":
					close(began)
					<-ctx.Done()
					ended = true
				}
				return tools.Result{Content: "fine"}
			}}))
			b.model.Script(fakemodel.Calls(calls...))
			func() {
				defer func() {
					if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "tool bug") {
						t.Errorf("recovered %v", v)
					}
				}()
				_, _ = b.say("go")
			}()
			if !ended || b.loop.Running() != 0 {
				t.Errorf("ended %v, running %d", ended, b.loop.Running())
			}
			b.mustSay("again")
			legal(t, b.lastRequest())
		})
	}
}

// sequence records what happens in which order.
type sequence struct {
	mu    sync.Mutex
	steps []string
}

func (s *sequence) add(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step)
}

type orderedStore struct {
	*store.Store
	*sequence
}

func (o orderedStore) Append(ctx context.Context, id string, ms ...store.Message) ([]store.Message, error) {
	out, err := o.Store.Append(ctx, id, ms...)
	for _, m := range ms {
		o.add("stored " + m.Role)
	}
	return out, err
}

type orderedModel struct {
	llm.Model
	*sequence
}

func (o orderedModel) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta)) (llm.Response, error) {
	o.add("request")
	return o.Model.Stream(ctx, r, emit)
}

// TestStoredBeforeActedOn is the order of a turn.
func TestStoredBeforeActedOn(t *testing.T) {
	seq := &sequence{}
	b := newBench(t, withTools(scriptedTools{run: func(_ context.Context, c tools.Call) tools.Result {
		seq.add("tool " + c.ID)
		return tools.Result{Content: "x"}
	}}), func(c *agent.Config, _ *tools.Config, o *llm.Options) {
		c.Store = orderedStore{c.Store.(*store.Store), seq}
		client, err := llm.NewClient(*o)
		must(t, err)
		t.Cleanup(client.Close)
		c.Model = orderedModel{client, seq}
	})
	b.model.Script(fakemodel.Calls(call("1", "t", "{}")), fakemodel.Calls(call("2", "t", "{}")), fakemodel.Text("ok"))
	_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: "go"}, func(e agent.Event) {
		if e.Kind == agent.EventDone || e.Kind == agent.EventToolEnd {
			seq.add(string(e.Kind))
		}
	})
	must(t, err)
	want := "stored user, request, stored assistant, tool 1, stored tool, tool_end, request, stored assistant, tool 2, stored tool, tool_end, request, stored assistant, done"
	if got := strings.Join(seq.steps, ", "); got != want {
		t.Fatalf("\n got %s\nwant %s", got, want)
	}
}
