package mcp

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/tools"
)

// T15, T16: a local server's tools are offered under their names, sorted, and work.
func TestT16LocalServer(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("my-api", "normal"))
	r.until("my-api", PhaseConnected)
	names := strings.Fields(r.names())
	for _, want := range []string{"mcp__my_api__echo", "mcp__my_api__read_it", "mcp__my_api__list_resources", "mcp__my_api__get_prompt"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	if got := r.mustRun("mcp__my_api__echo", "hello"); got != "echo hello" {
		t.Error(got)
	}
	if got := r.mustRun("mcp__my_api__structured", ""); !strings.Contains(got, `"rows":3`) {
		t.Error(got)
	}
	if got := r.run(t.Context(), "mcp__my_api__fails", ""); !got.IsError || !strings.Contains(got.Content, "no such table") || strings.Contains(got.Content, "<|") {
		t.Errorf("%+v", got)
	}
	o := r.set.Overview()
	for _, set := range o.Toolsets {
		if set.Name == "mcp-my-api" && (set.State != tools.StateOn || len(set.Tools) != len(names)) {
			t.Errorf("%+v", set)
		}
	}
}

// T16: resources and prompts can be read.
func TestT16ResourcesAndPrompts(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("a", "normal"), localServer("b", "normal", "tools", map[string]any{"include": []any{"echo"}, "resources": false, "prompts": false}))
	r.until("a", PhaseConnected)
	r.until("b", PhaseConnected)
	if got := r.mustRun("mcp__a__list_resources", ""); !strings.Contains(got, "test://one") {
		t.Error(got)
	}
	for args, want := range map[string]string{
		`mcp__a__read_resource {"uri":"test://one"}`:                      "the resource",
		`mcp__a__get_prompt {"name":"greet","arguments":{"who":"Alice"}}`: "greet Alice",
		`mcp__a__list_prompts {}`:                                         "greet (who)",
	} {
		name, raw, _ := strings.Cut(args, " ")
		got := r.set.Run(t.Context(), "s", tools.Call{ID: "c", Name: name, Arguments: []byte(raw)}, nil)
		if got.IsError || !strings.Contains(got.Content, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := r.names(); !strings.HasSuffix(got, " mcp__b__echo") || strings.Count(got, "mcp__b__") != 1 {
		t.Errorf("of b only echo was included: %s", got)
	}
}

// T17, G-346: a server sees the minimal environment and what is declared for it, nothing of this process, and nothing
// of another server.
func TestT17Environment(t *testing.T) {
	t.Setenv("GATEWAY_SECRET", "of the gateway")
	r := newRig(t, func(c *tools.Config) { c.Environ = []string{"PROFILE_SECRET=of the profile"} })
	secrets := map[string]string{"A_TOKEN": "token of a", "B_TOKEN": "token of b"}
	lookup := func(name string) (string, bool) { v, ok := secrets[name]; return v, ok }
	a := localServer("a", "normal", "env", map[string]any{"TOKEN": "${A_TOKEN}", "MISSING": "${NOT_THERE}", "N": 5}).Expand(lookup)
	b := localServer("b", "normal", "env", map[string]any{"TOKEN": "${env:B_TOKEN}"}).Expand(lookup)
	r.servers.Sync([]Server{a, b}, r.home, func(Server) string { return "" })
	r.until("a", PhaseConnected)
	r.until("b", PhaseConnected)
	for name, has := range map[string][]string{
		"a": {"TOKEN=token of a", "MISSING=${NOT_THERE}", "N=5", "HERMES_HOME=" + r.home, "HERMES_RUN_ID=run"},
		"b": {"TOKEN=token of b"},
	} {
		env := r.mustRun("mcp__"+name+"__env", "")
		for _, pair := range has {
			if !strings.Contains(env, pair) {
				t.Errorf("%s lacks %s in\n%s", name, pair, env)
			}
		}
		for _, secret := range []string{"of the gateway", "of the profile", map[string]string{"a": "of b", "b": "of a"}[name]} {
			if strings.Contains(env, secret) {
				t.Errorf("%s sees %q", name, secret)
			}
		}
	}
}

// A server that dies at its start is tried again without end; what it said is shown, and no secret in it. It keeps
// nobody waiting.
func TestT19DyingServer(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("bad", "dies", "env", map[string]any{"TOKEN": "hunter2-secret"}), localServer("none", "normal", "command", "no-such-command-anywhere"), localServer("good", "normal"))
	r.until("good", PhaseConnected)
	eventually(t, "bad is lost", func() bool { return r.info("bad").Why != "" })
	bad := r.until("bad", PhaseLost)
	if !strings.Contains(bad.Why, "cannot find my database") || !strings.Contains(bad.Why, "exit code 3") || strings.Contains(bad.Why, "hunter2") {
		t.Errorf("%+v", bad)
	}
	if strings.Contains(r.log.all(), "hunter2") {
		t.Error("a secret is in the log")
	}
	if none := r.until("none", PhaseLost); !strings.Contains(none.Why, `no command "no-such-command-anywhere" on the path`) || none.NextAttempt.IsZero() {
		t.Errorf("%+v", none)
	}
	eventually(t, "both are reported", func() bool { return strings.Join(r.servers.Troubled(), " ") == "bad none" })
	if got := r.names(); strings.Contains(got, "__bad__") || !strings.Contains(got, "mcp__good__echo") {
		t.Error(got)
	}
}

// A server that never answers ends with its connect timeout, also when it does not read or end.
func TestT15ConnectTimeout(t *testing.T) {
	for _, mode := range []string{"silent", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			r := newRig(t)
			began := time.Now()
			r.sync(localServer("x", mode, "connect_timeout", 0.4))
			eventually(t, "it is given up", func() bool { return strings.Contains(r.info("x").Why, "no answer within") })
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A server that knows only the handshake, and ends at anything else, is connected all the same.
func TestT15LegacyServer(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("auto", "strict"), localServer("legacy", "strict", "protocol", "legacy"))
	r.until("auto", PhaseConnected)
	r.until("legacy", PhaseConnected)
	if got := r.mustRun("mcp__auto__echo", "x"); got != "echo x" {
		t.Error(got)
	}
}

// What is no message on the standard output is passed over.
func TestGarbageOnStdout(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "chatty"))
	r.until("x", PhaseConnected)
	if got := r.mustRun("mcp__x__noise", ""); got != "after the noise" {
		t.Error(got)
	}
	if log := r.log.all(); !strings.Contains(log, "Welcome to the server!") || !strings.Contains(log, "a print on the standard output") {
		t.Error("what it wrote is not in the log")
	}
}

// T19: a crash in the middle of a call fails that call, says that its effect is unknown, and the server comes back
// without its tools having left the list.
func TestT19CrashDuringCall(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	before, pid := r.names(), r.mustRun("mcp__x__pid", "")
	got := r.run(t.Context(), "mcp__x__crash", "")
	if !got.IsError || !strings.Contains(got.Content, "not known what it has done") {
		t.Errorf("%+v", got)
	}
	if after := r.names(); after != before {
		t.Errorf("the list has changed to %s", after)
	}
	// The next call waits for the new process.
	if again := r.mustRun("mcp__x__pid", ""); again == pid {
		t.Error("it is the same process")
	}
}

// A huge result goes to the model in part and is kept in full; one beyond all bounds ends the connection, not the
// gateway.
func TestHugeResult(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	got := r.mustRun("mcp__x__big", "")
	if len(got) > 60<<10 || !strings.Contains(got, "complete output: ") || !strings.HasSuffix(got, " end") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
	if got := r.run(t.Context(), "mcp__x__toobig", ""); !got.IsError || !strings.Contains(got.Content, "16 MiB") {
		t.Errorf("%.300s", got.Content)
	}
	if got := r.mustRun("mcp__x__echo", "still"); got != "echo still" {
		t.Error(got)
	}
	got = r.mustRun("mcp__x__picture", "")
	begin := strings.Index(got, r.home)
	if !strings.HasPrefix(got, "here\n[image image/png of 9 bytes: ") || begin < 0 {
		t.Fatal(got)
	}
	if kept, err := os.ReadFile(strings.TrimSuffix(got[begin:], "]")); err != nil || string(kept) != "png bytes" {
		t.Errorf("%s %v", kept, err)
	}
}

// A storm of list_changed is one reading of the list, and everything is there in the end.
func TestListChangedStorm(t *testing.T) {
	r := newRig(t)
	r.sync(localServer("x", "normal"))
	r.until("x", PhaseConnected)
	before := strings.Count(r.names(), "mcp__x__")
	r.mustRun("mcp__x__storm", "")
	eventually(t, "all tools are there", func() bool { return strings.Count(r.names(), "mcp__x__") == before+300 })
	if got := r.mustRun("mcp__x__made_299", ""); got != "made_299" {
		t.Error(got)
	}
}

// Closing ends the whole tree, and a call that runs.
func TestCloseEndsTheTree(t *testing.T) {
	r := newRig(t)
	file := r.path("pid")
	s := localServer("x", "tree")
	s.Args = append(s.Args, file)
	r.sync(s)
	r.until("x", PhaseConnected)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	grandchild, err := strconv.Atoi(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	server, err := strconv.Atoi(r.mustRun("mcp__x__pid", ""))
	if err != nil {
		t.Fatal(err)
	}
	_, result := r.begin(t.Context(), "mcp__x__waits", "waiting")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := r.servers.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-result; !got.IsError {
		t.Errorf("%+v", got)
	}
	for _, pid := range []int{grandchild, server} {
		eventually(t, "the process is gone", func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended; a zombie has.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
