package chat

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a conversation with a real gateway API and a fake model.
type rig struct {
	t          testing.TB
	model      *fakemodel.Server
	profile    *profile.Runtime
	socket     string
	interrupts chan os.Signal
	out, notes buffer
	chat       *Chat
}

// Profile implements localapi.Backend.
func (r *rig) Profile(name string) (localapi.Profile, bool) { return r.profile, name == "alice" }

// Profiles implements localapi.Backend.
func (r *rig) Profiles() []string { return []string{"alice"} }

// buffer is written by a turn and read by a test.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, interrupts: make(chan os.Signal, 1)}
	var err error
	r.model, err = fakemodel.Start("")
	must(t, err)
	t.Cleanup(func() { _ = r.model.Close() })
	root := t.TempDir()
	spec := profilehome.Model(r.model.URL(), "sk-alice")
	spec.Config["approvals"] = map[string]any{"mode": "ask"}
	r.profile = profile.Open(profile.Options{
		Paths: profilehome.Write(t, root, "alice", spec), RunID: "run", Clock: clock.RealClock{}, Log: logr.Discard(),
		Retries: llm.Policy{MaxRetries: 1, MaxWait: time.Second, Base: time.Millisecond, Cap: time.Millisecond},
	})
	server, err := localapi.Serve(localapi.Config{Home: root, TempDir: t.TempDir(), Backend: r, Log: logr.Discard()})
	must(t, err)
	r.socket = server.Path()
	client := localapi.NewClient(r.socket, "home")
	t.Cleanup(func() {
		client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		must(t, r.profile.Close(ctx))
		must(t, server.Close(ctx))
	})
	r.chat = &Chat{
		Client: client, Target: Target{Profile: "alice", Gateway: "home", Socket: r.socket},
		Out: &r.out, Notes: &r.notes, Interrupts: r.interrupts, Clock: clock.RealClock{},
	}
	return r
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

func call(id, name, args string) fakemodel.ToolCall {
	return fakemodel.ToolCall{ID: id, Name: name, Arguments: args}
}

// typed is a person who types what is given, then leaves.
type typed struct {
	lines   []string
	answers []string
	asked   []string
}

func (l *typed) Read(context.Context, string) (string, bool, error) {
	if len(l.lines) == 0 {
		return "", false, io.EOF
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	switch {
	case line == "^C":
		return "", false, errInterrupt
	case len(line) > 0 && line[len(line)-1] == '\\':
		return line[:len(line)-1], true, nil
	}
	return line, false, nil
}

func (l *typed) Ask(_ context.Context, prompt string) (string, error) {
	l.asked = append(l.asked, prompt)
	if len(l.answers) == 0 {
		return "", io.EOF
	}
	a := l.answers[0]
	l.answers = l.answers[1:]
	if a == "^C" {
		return "", errInterrupt
	}
	return a, nil
}
