package profile

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(stuckEnv); path != "" {
		os.Exit(runStuck(path))
	}
	if root := os.Getenv(delegateEnv); root != "" {
		os.Exit(runDelegating(root))
	}
	if len(os.Args) > 1 && os.Args[1] == "mcp-server" {
		os.Exit(runMCPServer(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// rig is one profile with everything real around it.
type rig struct {
	t       testing.TB
	root    string
	name    string
	model   *fakemodel.Server
	runtime *Runtime
	changes atomic.Int64
}

func ctx(t testing.TB) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return c
}

func startModel(t testing.TB) *fakemodel.Server {
	t.Helper()
	m, err := fakemodel.Start("")
	must(t, err)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newRig opens profile "alice" with a key on a fake model.
func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	m := startModel(t)
	return openRig(t, m, t.TempDir(), "alice", profilehome.Model(m.URL(), "sk-alice"), change...)
}

func openRig(t testing.TB, m *fakemodel.Server, root, name string, s profilehome.Spec, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, root: root, name: name, model: m}
	o := Options{
		Paths: profilehome.Write(t, root, name, s), RunID: "run", Clock: clock.RealClock{}, Log: logr.Discard(),
		Retries: llm.Policy{MaxRetries: 0, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond},
		Changed: func() { r.changes.Add(1) },
	}
	for _, f := range change {
		f(&o)
	}
	r.runtime = Open(o)
	t.Cleanup(func() {
		if err := r.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// rewrite writes the home again, as the node agent does after a change of the Profile.
func (r *rig) rewrite(s profilehome.Spec) { profilehome.Write(r.t, r.root, r.name, s) }

func (r *rig) say(session, text string) (agent.Result, error) {
	return r.runtime.Turn(ctx(r.t), agent.Turn{SessionID: session, Source: "cli", UserText: text}, nil)
}

func (r *rig) mustSay(session, text string) agent.Result {
	r.t.Helper()
	res, err := r.say(session, text)
	must(r.t, err)
	return res
}

// roles gives the stored roles of a session, one letter each.
func (r *rig) roles(session string) string {
	r.t.Helper()
	_, rows, _, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	var b strings.Builder
	for _, m := range rows {
		b.WriteByte(m.Role[0])
	}
	return b.String()
}

func kind(t testing.TB, err error) agent.Kind {
	t.Helper()
	var e *agent.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *agent.Error", err)
	}
	return e.Kind
}

func call(id, name, args string) fakemodel.ToolCall {
	return fakemodel.ToolCall{ID: id, Name: name, Arguments: args}
}
