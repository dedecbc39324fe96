package profile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func TestTurn(t *testing.T) {
	r := newRig(t)
	must(t, os.WriteFile(filepath.Join(r.runtime.Paths().Workspace(), "notes.md"), []byte("x"), 0o600))
	r.model.Script(fakemodel.Calls(call("1", "list_dir", `{"path":"."}`)), fakemodel.Text("You have notes.md."))
	var kinds []string
	res, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: "what is here?"}, func(e agent.Event) {
		if n := len(kinds); n == 0 || kinds[n-1] != string(e.Kind) {
			kinds = append(kinds, string(e.Kind))
		}
	})
	must(t, err)
	if res.Reply != "You have notes.md." || res.ToolCalls != 1 || r.roles("s") != "uata" {
		t.Fatalf("%+v, rows %s", res, r.roles("s"))
	}
	if got := strings.Join(kinds, " "); got != "title usage tool_start tool_end text usage done" {
		t.Error(got)
	}
	requests := r.model.Requests()
	if requests[0].Key != "sk-alice" || !strings.Contains(requests[1].Parsed.Decoded()[3].Content, "notes.md") {
		t.Errorf("key %q, messages %+v", requests[0].Key, requests[1].Parsed.Decoded())
	}
	h := r.runtime.Health()
	if h.Reason != "" || h.Store == nil || h.Store.Sessions != 1 || h.Store.LastActivity == nil {
		t.Errorf("health %+v", h)
	}
}

// TestConfigurationChange: an edit is visible on the next turn, and a session that is answering on the old
// configuration still has one owner and can still be stopped.
func TestConfigurationChange(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "slow", Gate: gate}, fakemodel.Text("other session"))
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "one")
		turn <- err
	}()
	if _, err := r.model.WaitRequests(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	s := profilehome.Model(r.model.URL(), "sk-alice")
	s.Config["model"].(map[string]any)["default"] = "fake-2"
	r.rewrite(s)
	r.runtime.Reload()
	r.mustSay("other", "two")
	if got := r.model.Requests()[1].Parsed.Model; got != "fake-2" {
		t.Errorf("the next turn asked for %s", got)
	}
	if _, err := r.say("s", "three"); kind(t, err) != agent.KindBusy {
		t.Errorf("a second turn of a busy session: %v", err)
	}
	if !r.runtime.Stop("s") {
		t.Error("the turn on the old configuration cannot be stopped")
	}
	if err := <-turn; kind(t, err) != agent.KindInterrupted {
		t.Errorf("stopped turn: %v", err)
	}
	if r.runtime.Stop("s") {
		t.Error("stopped twice")
	}
	if got := r.roles("s"); got != "u" {
		t.Errorf("rows %s", got)
	}
	r.model.Script(fakemodel.Text("resumed"))
	res, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Resume: true}, nil)
	must(t, err)
	if res.Reply != "resumed" || r.roles("s") != "ua" {
		t.Errorf("%+v, rows %s", res, r.roles("s"))
	}
}

// TestUnusableConfiguration: the last good configuration is not used, the cause is told, and a repair is noticed.
func TestUnusableConfiguration(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	good, err := os.ReadFile(r.runtime.Paths().Config())
	must(t, err)
	for name, bad := range map[string]string{
		"not yaml":      "model: [",
		"not a mapping": "- a",
		"alias bomb":    "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n",
		"binary":        "\x00\xff\xfe",
		"bad turns":     string(good) + "\nagent: {max_turns: -3}\n",
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.WriteFile(r.runtime.Paths().Config(), []byte(bad), 0o600))
			before := len(r.model.Requests())
			_, err := r.say("s", "two")
			var e *ConfigError
			if !errors.As(err, &e) || len(r.model.Requests()) != before {
				t.Errorf("turn: %v", err)
			}
			must(t, os.WriteFile(r.runtime.Paths().Config(), good, 0o600))
			r.runtime.Reload()
			r.mustSay("s", "three")
		})
	}
	must(t, os.WriteFile(r.runtime.Paths().Config(), []byte("model: ["), 0o600))
	if h := r.runtime.Health(); h.Reason != "ConfigInvalid" || !strings.Contains(h.Message, "config.yaml") {
		t.Errorf("health %+v", h)
	}
	must(t, os.WriteFile(r.runtime.Paths().Config(), good, 0o600))
	if h := r.runtime.Health(); h.Reason != "" {
		t.Errorf("health after the repair %+v", h)
	}
}

// TestSeed begins a session once; what is there already stays.
func TestSeed(t *testing.T) {
	r := newRig(t)
	s := store.Session{ID: "s", Source: "api"}
	for range 2 {
		must(t, r.runtime.Seed(ctx(t), s, []store.Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: "b"}}))
	}
	if got := r.roles("s"); got != "ua" {
		t.Fatal(got)
	}
	r.mustSay("s", "c")
	ms := r.model.Requests()[0].Parsed.Decoded()
	if len(ms) != 4 || ms[1].Content != "a" || ms[2].Content != "b" || ms[3].Content != "c" {
		t.Fatalf("%+v", ms)
	}
	got, _, _, err := r.runtime.Session(ctx(t), "s")
	must(t, err)
	if got.ProfileName != "alice" || got.CreatedSource != "api" {
		t.Errorf("%+v", got)
	}
}

func TestDrainFinishesWhatBegan(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "finished", Gate: gate})
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "one")
		turn <- err
	}()
	if _, err := r.model.WaitRequests(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if left := r.runtime.Drain(over); left != 1 {
		t.Errorf("%d turns left", left)
	}
	if _, err := r.say("t", "two"); !errors.Is(err, ErrDraining) {
		t.Errorf("a turn while draining: %v", err)
	}
	close(gate)
	if left := r.runtime.Drain(ctx(t)); left != 0 {
		t.Errorf("%d turns left", left)
	}
	must(t, <-turn)
}

func TestCloseInterrupts(t *testing.T) {
	r := newRig(t)
	r.model.Script(fakemodel.Turn{Fault: fakemodel.Fault{NoHeaders: true}})
	turn := make(chan error, 1)
	go func() {
		_, err := r.say("s", "one")
		turn <- err
	}()
	if _, err := r.model.WaitRequests(ctx(t), 1); err != nil {
		t.Fatal(err)
	}
	must(t, r.runtime.Close(ctx(t)))
	if err := <-turn; kind(t, err) != agent.KindInterrupted {
		t.Errorf("turn: %v", err)
	}
	if _, err := r.say("s", "two"); !errors.Is(err, ErrClosed) {
		t.Errorf("a turn after Close: %v", err)
	}
	if _, err := r.runtime.Sessions(ctx(t), store.ListOptions{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a list after Close: %v", err)
	}
}

// TestCloseDoesNotWaitForEver: something that ignores its end cannot hold the process.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "hello")
	release := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = r.runtime.Turn(context.Background(), agent.Turn{SessionID: "s", UserText: "x"}, func(agent.Event) { <-release })
	}()
	if _, err := r.model.WaitRequests(ctx(t), 2); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.runtime.Close(over); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 turns") {
		t.Errorf("close: %v", err)
	}
	close(release)
	<-ended
}
