package localapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is the API on a real socket with real profiles, homes and stores, and a fake model server.
type rig struct {
	t      testing.TB
	root   string
	model  *fakemodel.Server
	client *localapi.Client
	socket string

	mu   sync.Mutex
	open map[string]*profile.Runtime
}

// Profile implements localapi.Backend.
func (r *rig) Profile(name string) (localapi.Profile, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.open[name]
	return p, ok
}

// Profiles implements localapi.Backend.
func (r *rig) Profiles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name := range r.open {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, root: t.TempDir(), open: map[string]*profile.Runtime{}}
	var err error
	r.model, err = fakemodel.Start("")
	must(t, err)
	t.Cleanup(func() { _ = r.model.Close() })
	r.openProfile("alice", profilehome.Model(r.model.URL(), "sk-alice"))
	server, err := localapi.Serve(localapi.Config{Home: r.root, TempDir: t.TempDir(), Backend: r, Clock: clock.RealClock{}, Log: logr.Discard()})
	must(t, err)
	r.socket = server.Path()
	r.client = localapi.NewClient(r.socket, "home")
	t.Cleanup(func() {
		r.client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for _, p := range r.open {
			must(t, p.Close(ctx))
		}
		must(t, server.Close(ctx))
	})
	return r
}

// openProfile opens a profile, or writes the home of an open one again.
func (r *rig) openProfile(name string, s profilehome.Spec) home.Paths {
	r.t.Helper()
	paths := profilehome.Write(r.t, r.root, name, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.open[name]; ok {
		p.Reload()
		return paths
	}
	r.open[name] = profile.Open(profile.Options{
		Paths: paths, RunID: "run", Clock: clock.RealClock{}, Log: logr.Discard(),
		Retries:  llm.Policy{MaxRetries: 1, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond},
		Timeouts: llm.Timeouts{Connect: 5 * time.Second, FirstByte: 250 * time.Millisecond, Idle: 250 * time.Millisecond, Content: 5 * time.Second},
	})
	return paths
}

// askFirst gives alice the approval mode in which people are asked.
func (r *rig) askFirst() {
	s := profilehome.Model(r.model.URL(), "sk-alice")
	s.Config["approvals"] = map[string]any{"mode": "ask"}
	r.openProfile("alice", s)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func ctx(t testing.TB) context.Context {
	t.Helper()
	c, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return c
}

// say is a request of one message in a session.
func say(session, text string) localapi.CompletionRequest {
	return localapi.CompletionRequest{
		Model: "alice", Messages: []localapi.RequestMessage{{Role: "user", Content: localapi.Content(text)}},
		Hermes: &localapi.Extension{Session: session, Source: "cli"},
	}
}

func nothing(localapi.StreamItem) {}

func apiError(t testing.TB, err error) *localapi.Error {
	t.Helper()
	var e *localapi.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return e
}

// roles gives the stored roles of one of alice's sessions, one letter each.
func (r *rig) roles(session string) string {
	r.t.Helper()
	s, err := r.client.Session(ctx(r.t), "alice", session)
	must(r.t, err)
	out := ""
	for _, m := range s.Transcript {
		out += m.Role[:1]
	}
	return out
}

func call(id, name, args string) fakemodel.ToolCall {
	return fakemodel.ToolCall{ID: id, Name: name, Arguments: args}
}

// idOf is the session id that a test's name for a session stands for.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "20261129_120000_" + hex.EncodeToString(sum[:5])
}
