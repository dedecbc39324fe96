package profile

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
	"hermes.dev/hermes/test/wallclock"
)

// TestBreaker is the truth table of the back-off: 1 s doubling to 5 min, forgotten after 10 min without a crash.
func TestBreaker(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var b breaker
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300} {
		b = b.crashed(now)
		if got := b.until.Sub(now); got != want*time.Second {
			t.Errorf("crash %d: closed for %s, want %s", i+1, got, want*time.Second)
		}
		if !b.open(b.until.Add(-1)) || b.open(b.until) {
			t.Errorf("crash %d: the end is not %s", i+1, b.until)
		}
		now = b.until
	}
	if b = b.crashed(b.last.Add(breakerForget - 1)); b.until.Sub(b.last) != breakerMost {
		t.Error("forgotten too early")
	}
	if b = b.crashed(b.last.Add(breakerForget)); b.crashes != 1 || b.until.Sub(b.last) != breakerFirst {
		t.Errorf("not forgotten: %+v", b)
	}
	if (breaker{}).open(now) {
		t.Error("the zero breaker keeps turns out")
	}
}

// TestBreakerAndClockSteps: a wall clock that is set neither opens nor closes a profile, and forgets nothing.
func TestBreakerAndClockSteps(t *testing.T) {
	began := time.Now()
	after := func(d, step time.Duration) time.Time { return wallclock.Shift(began.Add(d), step) }
	for _, step := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		b := breaker{}.crashed(began)
		if !b.open(after(breakerFirst-1, step)) || b.open(after(breakerFirst, step)) {
			t.Errorf("clock set by %s: the profile is not closed for exactly %s", step, breakerFirst)
		}
		if b = b.crashed(after(breakerForget-1, step)); b.crashes != 2 {
			t.Errorf("clock set by %s: %d crashes, want 2", step, b.crashes)
		}
		if b = b.crashed(after(2*breakerForget, -step)); b.crashes != 1 {
			t.Errorf("clock set back by %s: %d crashes, want 1", step, b.crashes)
		}
	}
}

// breakTool gives the profile a tool that panics.
func (r *rig) breakTool(f func()) {
	r.t.Helper()
	err := r.runtime.engine.tools.set.Register(tools.Tool{
		Definition: tools.Definition{Name: "broken", Description: "panics", Parameters: map[string]any{"type": "object"}}, Toolset: "files",
		Plan:    func(tools.Call) (tools.Plan, error) { return tools.Plan{ReadOnly: true}, nil },
		Handler: func(context.Context, tools.Call) (tools.Result, error) { f(); panic("tool bug\nsecond line") },
	}, false)
	must(r.t, err)
}

// TestPanicStopsAtItsProfile: the profile is not Ready with the cause, others go on, and it recovers by itself.
func TestPanicStopsAtItsProfile(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	withClock := func(o *Options) { o.Clock = fake }
	m, root := startModel(t), t.TempDir()
	alice := openRig(t, m, root, "alice", profilehome.Model(m.URL(), "sk-alice"), withClock)
	bob := openRig(t, m, root, "bob", profilehome.Model(m.URL(), "sk-bob"), withClock)
	alice.mustSay("s", "hello")
	for round, wait := range []time.Duration{time.Second, 2 * time.Second} {
		alice.breakTool(func() {})
		m.Script(fakemodel.Calls(call("1", "broken", "{}")))
		before := alice.changes.Load()
		_, err := alice.say("s", "break")
		var crash *CrashError
		if !errors.As(err, &crash) || crash.Cause != "tool bug" || !crash.Until.Equal(fake.Now().Add(wait)) {
			t.Fatalf("round %d: %v", round, err)
		}
		if h := alice.runtime.Health(); h.Reason != "RuntimeFailed" || !strings.Contains(h.Message, "tool bug") || alice.changes.Load() == before {
			t.Errorf("round %d: health %+v", round, h)
		}
		if _, err := alice.say("s", "too early"); !errors.As(err, &crash) {
			t.Errorf("round %d: a turn during the back-off: %v", round, err)
		}
		bob.mustSay("s", "hello")
		if h := bob.runtime.Health(); h.Reason != "" {
			t.Errorf("round %d: bob's health %+v", round, h)
		}
		before = alice.changes.Load()
		fake.Step(wait)
		if h := alice.runtime.Health(); h.Reason != "" || alice.changes.Load() == before {
			t.Errorf("round %d: health after the back-off %+v", round, h)
		}
		alice.mustSay("s", "again")
	}
	if got := alice.roles("s"); got != "ua"+"uataua"+"uataua" { // each broken call has a result that says so
		t.Errorf("rows %s", got)
	}
}

// TestPanicBesideOthers: tools that run beside a panicking one are waited for, and nothing of them is left.
func TestPanicBesideOthers(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "hello")
	r.breakTool(func() {})
	r.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"sleep 600"}`), call("2", "broken", "{}")))
	_, err := r.say("s", "break")
	var crash *CrashError
	if !errors.As(err, &crash) || crash.Cause != "tool bug" || r.runtime.Active() != 0 {
		t.Fatalf("%v, %d active", err, r.runtime.Active())
	}
}

type panickyTransport struct{}

func (panickyTransport) RoundTrip(*http.Request) (*http.Response, error) { panic("transport bug") }

// TestPanicsElsewhere: in the model client, and in what listens to the turn.
func TestPanicsElsewhere(t *testing.T) {
	var crash *CrashError
	r := newRig(t, func(o *Options) { o.Transport = panickyTransport{} })
	if _, err := r.say("s", "x"); !errors.As(err, &crash) || crash.Cause != "transport bug" {
		t.Errorf("model: %v", err)
	}
	r = newRig(t)
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: "x"}, func(agent.Event) { panic("listener bug") })
	if !errors.As(err, &crash) || crash.Cause != "listener bug" {
		t.Errorf("listener: %v", err)
	}
	if _, busy := r.runtime.running["s"]; busy {
		t.Error("the session is still owned")
	}
}

// TestPanicWhileClosing does not bring an engine back.
func TestPanicWhileClosing(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "hello")
	started, release := make(chan struct{}), make(chan struct{})
	r.breakTool(func() { close(started); <-release })
	r.model.Script(fakemodel.Calls(call("1", "broken", "{}")))
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "break")
		turn <- err
	}()
	<-started
	closed := make(chan error, 1)
	go func() { closed <- r.runtime.Close(ctx(t)) }()
	<-r.runtime.closing.Done()
	close(release)
	var crash *CrashError
	if err := <-turn; !errors.As(err, &crash) {
		t.Error(err)
	}
	must(t, <-closed)
	if r.runtime.engine != nil || r.runtime.recovery != nil {
		t.Error("something came back")
	}
}

// TestPromptFiles: what tools can write in the workspace neither stops the profile nor leads out of it.
func TestPromptFiles(t *testing.T) {
	m, root := startModel(t), t.TempDir()
	bob := profilehome.Write(t, root, "bob", profilehome.Model(m.URL(), "sk-bob-secret"))
	spec := profilehome.Model(m.URL(), "sk-alice")
	spec.Files = map[string]string{"SOUL.md": "You are Alice."}
	r := openRig(t, m, root, "alice", spec)
	agents := r.runtime.Paths().Workspace() + "/AGENTS.md"
	for name, c := range map[string]struct {
		put  func() error
		want string
	}{
		"none":     {func() error { return nil }, ""},
		"text":     {func() error { return os.WriteFile(agents, []byte(" be kind \xff"), 0o600) }, "be kind �"},
		"long":     {func() error { return os.WriteFile(agents, []byte(strings.Repeat("é", maxContextFile)), 0o600) }, "[cut here"},
		"link out": {func() error { return os.Symlink(bob.Env(), agents) }, "was not read"},
		"link in": {func() error {
			return errors.Join(os.WriteFile(agents+".real", []byte("inside"), 0o600), os.Symlink("AGENTS.md.real", agents))
		}, "inside"},
		"directory": {func() error { return os.Mkdir(agents, 0o700) }, "not a regular file"},
		"pipe":      {func() error { return mkfifo(agents) }, "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, c.put())
			defer os.RemoveAll(agents)
			r.mustSay(strings.ReplaceAll(name, " ", "-"), "hello")
			requests := r.model.Requests()
			prompt := requests[len(requests)-1].Parsed.Decoded()[0].Content
			if !strings.HasPrefix(prompt, "You are Alice.") || !strings.Contains(prompt, c.want) || strings.Contains(prompt, "sk-bob") ||
				!strings.Contains(prompt, r.runtime.Paths().Workspace()) || len(prompt) > maxContextFile+1024 {
				t.Errorf("prompt %.300q", prompt)
			}
		})
	}
}
