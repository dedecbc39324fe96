package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	testclock "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/tools"
)

// A call that was never sent is made again on a connection that works; one that may have arrived is not. After either,
// no call uses the connection until it has been looked at.
func TestT19NothingIsAskedTwice(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	s := r.servers.all()[0]
	for _, c := range []struct {
		failure error
		runs    int
		says    string
	}{
		{fmt.Errorf("%w: calling it", sdk.ErrConnectionClosed), 2, ""},
		{errors.New("broken pipe"), 1, "not known what it has done: broken pipe"},
	} {
		runs := 0
		_, err := s.call(t.Context(), "mcp__x__echo", func(context.Context, *link) (tools.Result, error) {
			if runs++; runs > 1 {
				return tools.Result{}, nil
			}
			return tools.Result{}, c.failure
		})
		if runs != c.runs || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %d runs, %v", c.failure, runs, err)
		}
	}
	l := &link{ended: make(chan struct{})}
	if !l.enter() {
		t.Error("a link that works refuses a call")
	}
	if l.setDoubt(true); l.enter() {
		t.Error("a link in doubt takes a call")
	}
	if l.setDoubt(false); !l.enter() {
		t.Error("a link that was found to work refuses a call")
	}
	if l.drain(); l.enter() {
		t.Error("a link that drains takes a call")
	}
}

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
	pid, err := strconv.Atoi(r.mustRun("mcp__x__pid", ""))
	if err != nil {
		t.Fatal(err)
	}
	// A call that runs is use.
	finish, _ := r.begin(t.Context(), "mcp__x__waits", "w")
	if got := finish(); got.IsError {
		t.Errorf("%+v", got)
	}
	r.until("x", PhaseAsleep)
	if !gone(pid) {
		t.Error("its process runs while it is asleep")
	}
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
	// More of them than are started at once.
	r.sync(localServer("deaf", "deaf"), localServer("silent", "silent"), localServer("silent2", "silent"), localServer("silent3", "silent"),
		localServer("deaf2", "deaf"), localServer("good", "normal"))
	if took := time.Since(began); took > time.Second {
		t.Errorf("Sync took %s", took)
	}
	r.until("good", PhaseConnected)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the good one was connected after %s", took)
	}
	if got := r.mustRun("mcp__good__echo", "x"); got != "echo x" {
		t.Error(got)
	}
	if got := r.names(); strings.Contains(got, "deaf") {
		t.Error(got)
	}
}

// A server that hangs without a call is found by the question whether it is there, and started anew.
func TestT15Keepalive(t *testing.T) {
	r := newRig(t)
	s := localServer("x", "normal")
	s.Keepalive = time.Second // below what can be declared
	r.sync(s)
	r.until("x", PhaseConnected)
	pid, err := strconv.Atoi(r.mustRun("mcp__x__pid", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is found not to answer", func() bool { return strings.Contains(r.info("x").Why, "it does not answer: no answer within 1s") })
	r.until("x", PhaseConnected)
	if !gone(pid) || r.mustRun("mcp__x__pid", "") == strconv.Itoa(pid) {
		t.Error("it is the same process")
	}
}

// A filter that is changed holds for a turn that began before, too.
func TestT16ChangedFilter(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	finish, _ := r.begin(t.Context(), "mcp__x__waits", "w")
	r.sync(localServer("x", "normal", "tools", map[string]any{"exclude": []any{"echo"}}))
	r.until("x", PhaseConnecting)
	got := make(chan tools.Result, 1)
	go func() { got <- r.run(t.Context(), "mcp__x__echo", "x") }()
	eventually(t, "the call waits", func() bool { return r.set.Overview().Served && strings.Contains(r.names(), "mcp__x__echo") })
	finish()
	if res := <-got; !res.IsError || !strings.Contains(res.Content, "echo") {
		t.Errorf("%+v", res)
	}
	eventually(t, "echo has gone", func() bool { return !strings.Contains(r.names(), "mcp__x__echo") })
}

// What people are told follows the time: a server that stays away is told of once the grace is over.
func TestTroubleIsToldAfterTheGrace(t *testing.T) {
	clk := testclock.NewFakeClock(time.Now())
	var told []string
	v := New(Options{Clock: clk})
	v.o.Changed = func() { told = append(told, strings.Join(v.Troubled(), " ")) }
	s := &server{v: v, name: "x", moved: make(chan struct{}), status: status{known: true}}
	v.servers["x"] = s
	s.enter(PhaseConnected, "", time.Time{}, nil)
	s.enter(PhaseLost, "gone", time.Time{}, nil)
	s.enter(PhaseConnecting, "gone", time.Time{}, nil)
	if len(told) != 0 {
		t.Errorf("told within the grace: %q", told)
	}
	clk.Step(lossGrace)
	for range 3 {
		s.enter(PhaseLost, "gone", time.Time{}, nil)
		s.enter(PhaseConnecting, "gone", time.Time{}, nil)
	}
	s.enter(PhaseConnected, "", time.Time{}, nil)
	if strings.Join(told, "|") != "x|" {
		t.Errorf("told %q", told)
	}
}
