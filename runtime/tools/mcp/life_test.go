package mcp

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/tools"
)

// A change of one declaration restarts that server only, after the calls that run on it.
func TestSyncRestartsWhatChanged(t *testing.T) {
	r := newRig(t)
	a, b := localServer("a", "normal", "supports_parallel_tool_calls", true), localServer("b", "normal")
	r.sync(a, b)
	r.until("a", PhaseConnected)
	r.until("b", PhaseConnected)
	pidA, pidB := r.mustRun("mcp__a__pid", ""), r.mustRun("mcp__b__pid", "")
	finish, _ := r.begin(t.Context(), "mcp__a__waits", "w")
	changed := localServer("a", "normal", "env", map[string]any{"NEW": "value"})
	r.sync(changed, b)
	r.until("a", PhaseConnecting)
	if got := finish(); got.IsError || got.Content != "waited" {
		t.Errorf("the call that ran did not finish: %+v", got)
	}
	r.until("a", PhaseConnected)
	if env := r.mustRun("mcp__a__env", ""); !strings.Contains(env, "NEW=value") {
		t.Error("the change has no effect")
	}
	if r.mustRun("mcp__a__pid", "") == pidA || r.mustRun("mcp__b__pid", "") != pidB {
		t.Error("the wrong server was restarted")
	}
	r.sync(changed, b)
	if r.info("a").State != string(PhaseConnected) {
		t.Error("a sync without a change restarts")
	}
	// One that is not declared any more offers nothing at once, and comes back when it is.
	r.sync(b)
	if got := r.names(); strings.Contains(got, "__a__") || !strings.Contains(got, "__b__") {
		t.Error(got)
	}
	r.sync(changed, b)
	eventually(t, "a is back", func() bool { return strings.Contains(r.names(), "mcp__a__echo") })
	if r.mustRun("mcp__b__pid", "") != pidB {
		t.Error("b was restarted")
	}
}

// A disabled server, one that is not selected and one that cannot be meant are never started.
func TestSyncOff(t *testing.T) {
	r := newRig(t)
	file := r.path("started")
	list := []Server{localServer("disabled", "tree", "enabled", false), localServer("unselected", "tree"), localServer("invalid", "tree", "url", "http://127.0.0.1:1"), localServer("ok", "normal")}
	for i := range list[:3] {
		list[i].Args = append(list[i].Args, file)
	}
	r.servers.Sync(list, r.home, func(s Server) string {
		if s.Name == "unselected" {
			return "not named in toolsets"
		}
		return ""
	})
	r.until("ok", PhaseConnected)
	for name, want := range map[string][2]string{"disabled": {"off", "disabled in its declaration"}, "unselected": {"off", "not named in toolsets"}, "invalid": {"invalid", "exactly one of command"}} {
		if got := r.until(name, Phase(want[0])); !strings.Contains(got.Why, want[1]) {
			t.Errorf("%+v", got)
		}
	}
	if got := strings.Join(r.servers.Troubled(), " "); got != "invalid" {
		t.Error(got)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("one was started")
	}
}

// T15: a server that nobody uses is ended, keeps its tools, and is started by the next call.
func TestT15IdleTimeout(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal", "idle_timeout_seconds", 0.3))
	r.until("x", PhaseConnected)
	names := r.names()
	// A call that runs is use.
	finish, _ := r.begin(t.Context(), "mcp__x__waits", "w")
	if got := finish(); got.IsError {
		t.Errorf("%+v", got)
	}
	r.until("x", PhaseAsleep)
	if got := r.names(); got != names || got == "" {
		t.Error("its tools have gone: " + got)
	}
	if got := r.mustRun("mcp__x__echo", "awake"); got != "echo awake" {
		t.Error(got)
	}
}

// T15: a server that has lived long enough is started anew.
func TestT15MaxLifetime(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal", "max_lifetime_seconds", 1))
	r.until("x", PhaseConnected)
	pid := r.mustRun("mcp__x__pid", "")
	eventually(t, "it is another process", func() bool {
		got := r.run(t.Context(), "mcp__x__pid", "")
		return !got.IsError && got.Content != pid
	})
}

// T15: calls run one after the other unless the server takes them side by side.
func TestT15ParallelCalls(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("one", "normal"), localServer("many", "normal", "supports_parallel_tool_calls", true))
	r.until("one", PhaseConnected)
	r.until("many", PhaseConnected)
	finish, _ := r.begin(t.Context(), "mcp__many__waits", "m")
	if got := r.mustRun("mcp__many__echo", "beside"); got != "echo beside" {
		t.Error(got)
	}
	finish()
	finish, _ = r.begin(t.Context(), "mcp__one__waits", "o")
	second := make(chan tools.Result, 1)
	go func() { second <- r.run(t.Context(), "mcp__one__echo", "behind") }()
	eventually(t, "the second call is in the line", func() bool {
		s := r.servers.all()[1]
		s.mu.Lock()
		defer s.mu.Unlock()
		s.link.mu.Lock()
		defer s.link.mu.Unlock()
		return s.link.running == 2
	})
	select {
	case got := <-second:
		t.Errorf("the second call did not wait: %+v", got)
	default:
	}
	finish()
	if got := <-second; got.Content != "echo behind" {
		t.Errorf("%+v", got)
	}
}

// A turn that is stopped stops its call, and the server stays.
func TestCancelledCall(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	pid := r.mustRun("mcp__x__pid", "")
	ctx, cancel := context.WithCancel(t.Context())
	_, result := r.begin(ctx, "mcp__x__waits", "w")
	cancel()
	if got := <-result; !got.IsError || !strings.Contains(got.Content, "cancelled") {
		t.Errorf("%+v", got)
	}
	if r.mustRun("mcp__x__pid", "") != pid {
		t.Error("the server was restarted")
	}
}

// T18: what an untrusted server does not declare as reading is asked about.
func TestT18Untrusted(t *testing.T) {
	for trust, asked := range map[string]bool{"full": false, "untrusted": true, "somewhat": true} {
		r := newRig(t)
		r.sync(localServer("x", "normal", "trust", trust))
		r.until("x", PhaseConnected)
		if got := r.run(t.Context(), "mcp__x__echo", "hi"); got.IsError != asked || asked && !strings.Contains(got.Content, "needs approval") {
			t.Errorf("trust %s: %+v", trust, got)
		}
		if got := r.run(t.Context(), "mcp__x__read_it", "hi"); got.IsError {
			t.Errorf("trust %s: %+v", trust, got)
		}
		var q tools.ApprovalRequest
		r.set.Run(t.Context(), "s", tools.Call{ID: "c", Name: "mcp__x__echo", Arguments: []byte(`{"text":"hi"}`)}, func(_ context.Context, got tools.ApprovalRequest) (tools.Decision, error) {
			q = got
			return tools.DecisionOnce, nil
		})
		if asked && (!strings.Contains(q.Summary, "MCP server x") || !strings.Contains(q.Summary, `"hi"`) || q.Covers != tools.ApprovalPerTool) || !asked && q.Tool != "" {
			t.Errorf("trust %s: %+v", trust, q)
		}
	}
}

// T16: the bare name of a server selects its tools; a name of a toolset adds to it.
func TestT16Alias(t *testing.T) {
	r := newRig(t, func(c *tools.Config) {
		c.Toolsets, c.Servers = []string{"git", "todo"}, []string{"git", "todo", "other"}
	})
	r.sync(localServer("git", "normal"), localServer("todo", "normal"), localServer("other", "normal"))
	for _, name := range []string{"git", "todo", "other"} {
		r.until(name, PhaseConnected)
	}
	got := r.names()
	if !strings.Contains(got, "mcp__git__echo") || !strings.Contains(got, "mcp__todo__echo") || strings.Contains(got, "mcp__other__") {
		t.Error(got)
	}
	if got := r.run(t.Context(), "mcp__other__echo", "x"); !got.IsError {
		t.Error("a tool that is not selected runs")
	}
	todo := false
	for _, d := range r.set.Definitions() {
		todo = todo || d.Name == "todo_list"
	}
	if !todo {
		t.Error("the toolset todo has lost its own tool")
	}
}

// A server that hangs does not keep others, or whoever asks, waiting.
func TestHangingServerKeepsNobodyWaiting(t *testing.T) {
	r := newRig(t)
	began := time.Now()
	r.sync(localServer("deaf", "deaf"), localServer("silent", "silent"), localServer("good", "normal"))
	if took := time.Since(began); took > time.Second {
		t.Errorf("Sync took %s", took)
	}
	r.until("good", PhaseConnected)
	if got := r.mustRun("mcp__good__echo", "x"); got != "echo x" {
		t.Error(got)
	}
	if got := r.names(); strings.Contains(got, "deaf") {
		t.Error(got)
	}
}
