package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("AGENT_TEST_CHILD"); dir != "" {
		childTurn(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// bench is everything a turn needs, all of it real.
type bench struct {
	t     testing.TB
	dir   string
	model *fakemodel.Server
	store *store.Store
	tools *tools.Set
	loop  *agent.Loop

	mu     sync.Mutex
	events []agent.Event
}

type option func(*agent.Config, *tools.Config, *llm.Options)

func newBench(t testing.TB, opts ...option) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	var err error
	if b.model, err = fakemodel.Start(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.model.Close() })
	b.open(b.model.URL(), opts...)
	return b
}

// open opens store, tools, client and loop below b.dir.
func (b *bench) open(modelURL string, opts ...option) {
	b.t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(b.dir, "state.db"), store.Options{Log: logr.Discard()})
	must(b.t, err)
	b.store = st
	b.t.Cleanup(func() { _ = st.Close() })

	rt, err := llm.NewRoute(llm.ProviderCustom, modelURL)
	must(b.t, err)
	lo := llm.Options{
		Route: rt, Log: logr.Discard(),
		Policy:   llm.Policy{MaxRetries: 0, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond},
		Timeouts: llm.Timeouts{Connect: 5 * time.Second, FirstByte: 20 * time.Second, Idle: 20 * time.Second, Content: 20 * time.Second},
	}
	tc := tools.Config{Home: b.dir, Workspace: filepath.Join(b.dir, "workspace"), Mode: tools.ModeAllow, Log: logr.Discard(), RunID: "test"}
	ac := agent.Config{
		Store: st, ModelName: "fake-1", Provider: "custom", BaseURL: modelURL, Profile: "p", Log: logr.Discard(),
		SystemPrompt: func(context.Context) (string, error) { return "You are helpful.", nil },
	}
	for _, o := range opts {
		o(&ac, &tc, &lo)
	}
	b.tools, err = tools.NewSet(tc)
	must(b.t, err)
	set := b.tools
	b.t.Cleanup(func() {
		if err := set.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	client, err := llm.NewClient(lo)
	must(b.t, err)
	b.t.Cleanup(client.Close)
	if ac.Tools == nil {
		ac.Tools = b.tools
	}
	if ac.Model == nil {
		ac.Model = client
	}
	b.loop, err = agent.New(ac)
	must(b.t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bench) record(e agent.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, e)
}

// say runs a turn in session "s".
func (b *bench) say(text string) (agent.Result, error) {
	return b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: text}, b.record)
}

func (b *bench) mustSay(text string) agent.Result {
	b.t.Helper()
	r, err := b.say(text)
	must(b.t, err)
	return r
}

// rows gives the transcript of "s" as "role:content" with calls as role:+name.
func (b *bench) rows() []string {
	b.t.Helper()
	ms, err := b.store.Messages(context.Background(), "s")
	must(b.t, err)
	var out []string
	for _, m := range ms {
		line := m.Role + ":" + m.Content
		if len(m.ToolCalls) > 0 {
			line += "+" + string(m.ToolCalls)
		}
		out = append(out, line)
	}
	return out
}

// roles gives the roles of "s", one letter each.
func (b *bench) roles() string {
	var s strings.Builder
	for _, r := range b.rows() {
		s.WriteByte(r[0])
	}
	return s.String()
}

// lastRequest gives the messages of the newest request.
func (b *bench) lastRequest() []fakemodel.Message {
	rs := b.model.Requests()
	return rs[len(rs)-1].Parsed.Decoded()
}

func kindOf(t testing.TB, err error) *agent.Error {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *agent.Error", err)
	}
	return e
}

// legal checks the alternation rule L2 on a request: a person begins, no role but tool repeats, every call has an id of
// its own and its result right after it, and no message is empty.
func legal(t testing.TB, ms []fakemodel.Message) {
	t.Helper()
	prev := "assistant"
	ids := map[string]bool{}
	var open []string
	for i, m := range ms {
		switch m.Role {
		case "system":
			if i != 0 {
				t.Fatalf("message %d: system prompt in the middle", i)
			}
		case "tool":
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Fatalf("message %d: result of %q, open calls %q", i, m.ToolCallID, open)
			}
			open = open[1:]
			prev = "tool"
			continue
		case "user":
			if prev == "user" || len(open) > 0 || m.Content == "" {
				t.Fatalf("message %d: user after %s with open calls %q", i, prev, open)
			}
			prev = "user"
		case "assistant":
			if prev == "assistant" || len(open) > 0 || m.Content == "" && len(m.ToolCalls) == 0 {
				t.Fatalf("message %d: assistant after %s with open calls %q", i, prev, open)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || ids[c.ID] {
					t.Fatalf("message %d: the call id %q is not one of its own", i, c.ID)
				}
				ids[c.ID] = true
				open = append(open, c.ID)
			}
			prev = "assistant"
		}
	}
	if prev == "assistant" || len(open) > 0 {
		t.Fatalf("the request ends with %s and open calls %q", prev, open)
	}
}
