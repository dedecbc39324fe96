package profile

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

func testMCPServer(args []string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name, description string, run func(ctx context.Context) string) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: description}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: run(ctx)}}}, nil, nil
		})
	}
	add("environment", "Shows arguments and environment.", func(context.Context) string {
		return fmt.Sprintf("%q\n%s", args, strings.Join(os.Environ(), "\n"))
	})
	add("pid", "Shows the process.", func(context.Context) string { return fmt.Sprint(os.Getpid()) })
	add("waits", "Never answers.", func(ctx context.Context) string { <-ctx.Done(); return "" })
	return s
}

// runMCPServer is this test program as a local MCP server.
func runMCPServer(args []string) int {
	if err := testMCPServer(args).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

func awaitThat(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.NewTimer(20*time.Second)
	defer tick.Stop()
	defer limit.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func (r *rig) server(name string) tools.ServerInfo {
	r.t.Helper()
	o, err := r.runtime.Tools()
	must(r.t, err)
	for _, s := range o.Servers {
		if s.Name == name {
			return s
		}
	}
	return tools.ServerInfo{}
}

func (r *rig) awaitServer(name, state string) {
	r.t.Helper()
	awaitThat(r.t, name+" is "+state, func() bool { return r.server(name).State == state })
}

// use has the model call one tool and returns its result.
func (r *rig) use(session, tool string) string {
	r.t.Helper()
	r.model.Script(fakemodel.Calls(call("c", tool, "{}")), fakemodel.Text("done"))
	r.mustSay(session, "use "+tool)
	_, rows, _, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Role == "tool" {
			return rows[i].Content
		}
	}
	return ""
}

// Every field of spec.mcpServers, from the Profile to what the server sees and the model is offered.
func TestMCPServersOfAProfile(t *testing.T) {
	var authorized atomic.Int64
	remote := testMCPServer(nil)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return remote }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") == "Bearer token-of-remote" && q.Header.Get("X-Plain") == "plain" {
			authorized.Add(1)
		}
		handler.ServeHTTP(w, q)
	}))
	defer func() { web.CloseClientConnections(); web.Close() }()
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "alice", Namespace: "default"}}
	from := func(key string) *v1alpha1.ValueSource {
		return &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "keys", Key: key}}
	}
	p.Spec.MCPServers = map[string]v1alpha1.MCPServerSpec{
		"local": {Command: os.Args[0], Args: []string{"mcp-server", "an argument"},
			Env:     []v1alpha1.EnvVar{{Name: "PLAIN", Value: ptr.To("plain")}, {Name: "TOKEN", ValueFrom: from("local")}},
			Timeout: &metav1.Duration{Duration: 2 * time.Second}, Tools: &v1alpha1.ToolFilter{Exclude: []string{"pid"}}},
		"remote": {URL: web.URL, Headers: []v1alpha1.HeaderSpec{{Name: "Authorization", ValueFrom: from("remote")}, {Name: "X-Plain", Value: ptr.To("plain")}},
			Tools: &v1alpha1.ToolFilter{Include: []string{"p*"}}},
		"disabled": {Command: os.Args[0], Args: []string{"mcp-server"}, Disabled: true},
	}
	m := startModel(t)
	p.Spec.Model = v1alpha1.ModelSpec{Provider: "custom", Name: "fake-1", BaseURL: m.URL()}
	p.Spec.Env = []v1alpha1.EnvVar{{Name: "OF_THE_PROFILE", Value: ptr.To("x")}}
	p.Spec.Approvals.Mode = v1alpha1.ApprovalAllow
	b, err := home.Render(p, home.Resolved{Secrets: map[string]map[string][]byte{"keys": {"local": []byte("token-of-local"), "remote": []byte("Bearer token-of-remote\n")}}})
	must(t, err)
	root := t.TempDir()
	written, err := home.Materialise(ctx(t), root, b, home.Options{Now: time.Now(), Log: logr.Discard()})
	must(t, err)
	r := openRig(t, m, t.TempDir(), "alice", profilehome.Demo(), func(o *Options) { o.Paths = written.Paths })
	r.runtime.Connect()
	r.awaitServer("local", "connected")
	r.awaitServer("remote", "connected")
	if s := r.server("disabled"); s.State != "off" {
		t.Errorf("%+v", s)
	}
	got := r.use("s1", "mcp__local__environment")
	for _, want := range []string{`["an argument"]`, "PLAIN=plain", "TOKEN=token-of-local", "HERMES_HOME="} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	for _, never := range []string{"OF_THE_PROFILE", "token-of-remote", "HERMES_MCP_"} {
		if strings.Contains(got, never) {
			t.Errorf("the server sees %s", never)
		}
	}
	var names []string
	for _, raw := range m.Requests()[0].Parsed.Tools {
		var d struct{ Function struct{ Name string } }
		must(t, json.Unmarshal(raw, &d))
		if strings.HasPrefix(d.Function.Name, "mcp__") {
			names = append(names, d.Function.Name)
		}
	}
	if got := strings.Join(names, " "); got != "mcp__local__environment mcp__local__waits mcp__remote__pid" {
		t.Error(got)
	}
	if got := r.use("s1", "mcp__remote__pid"); got != fmt.Sprint(os.Getpid()) || authorized.Load() == 0 {
		t.Errorf("%s, %d authorized", got, authorized.Load())
	}
	if got := r.use("s1", "mcp__local__waits"); !strings.Contains(got, "no answer within 2s") {
		t.Error(got)
	}
}

func withServers(m *fakemodel.Server, servers map[string]any) profilehome.Spec {
	s := profilehome.Model(m.URL(), "sk-alice")
	s.Config["mcp_servers"] = servers
	return s
}

func local(more ...any) map[string]any {
	m := map[string]any{"command": os.Args[0], "args": []any{"mcp-server"}}
	for i := 0; i < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	return m
}

// A server that does not start delays no turn, and shows in the overview and the message, without a reason.
func TestMCPServerThatDoesNotStart(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withServers(m, map[string]any{
		"hangs": map[string]any{"command": "/bin/sleep", "args": []any{"1000"}}, "missing": map[string]any{"command": "/no/such/command"}, "bad": map[string]any{"command": "x", "url": "http://y"},
	}))
	r.runtime.Connect()
	began := time.Now()
	m.Script(fakemodel.Text("hello"))
	if got := r.mustSay("s1", "hello"); got.Reply != "hello" {
		t.Error(got.Reply)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the first turn took %s", took)
	}
	awaitThat(t, "missing says why", func() bool { return strings.Contains(r.server("missing").Why, "there is no command /no/such/command") })
	h := r.runtime.Health()
	if h.Reason != "" || !strings.Contains(h.Message, "MCP servers not connected: bad, missing (hermes tools list -p alice says why)") {
		t.Errorf("%+v", h)
	}
	if s := r.server("bad"); s.State != "invalid" || !strings.Contains(s.Why, "exactly one of command") {
		t.Errorf("%+v", s)
	}
	// What is tried again and again is no news each time.
	changes, next := r.changes.Load(), r.server("missing").NextAttempt
	awaitThat(t, "another attempt", func() bool { n := r.server("missing").NextAttempt; return !n.IsZero() && !n.Equal(next) })
	if h2 := r.runtime.Health(); h2.Message != h.Message || r.changes.Load() != changes {
		t.Errorf("%q, %d changes", h2.Message, r.changes.Load()-changes)
	}
}

// A rotated secret and a changed declaration restart the one server; the set, with what was allowed in it, stays.
func TestMCPServersFollowTheHome(t *testing.T) {
	m := startModel(t)
	spec := withServers(m, map[string]any{"a": local("env", map[string]any{"TOKEN": "${HERMES_MCP_A_TOKEN}"}), "b": local()})
	spec.Env["HERMES_MCP_A_TOKEN"] = "first-token"
	r := openRig(t, m, t.TempDir(), "alice", spec)
	r.runtime.Connect()
	r.awaitServer("a", "connected")
	r.awaitServer("b", "connected")
	pid := r.use("s1", "mcp__b__pid")
	if got := r.use("s1", "mcp__a__environment"); !strings.Contains(got, "TOKEN=first-token") {
		t.Error(got)
	}
	set := r.runtime.engine.tools.set
	spec.Env["HERMES_MCP_A_TOKEN"] = "second-token"
	r.rewrite(spec)
	r.runtime.Reload()
	awaitThat(t, "a has the new secret", func() bool { return strings.Contains(r.use("s1", "mcp__a__environment"), "TOKEN=second-token") })
	if got := r.use("s1", "mcp__b__pid"); got != pid {
		t.Errorf("b was restarted: %s, %s", pid, got)
	}
	if r.runtime.engine.tools.set != set {
		t.Error("the tool set was made anew")
	}
	// One that is not selected is not run.
	spec.Config["disabled_toolsets"] = []any{"a"}
	r.rewrite(spec)
	r.runtime.Reload()
	r.awaitServer("a", "off")
	if got := r.server("a").Why; got != "disabled by disabledToolsets" {
		t.Error(got)
	}
	if got := r.use("s1", "mcp__b__pid"); got != pid {
		t.Error("b was restarted by what concerns a")
	}
}

// The list of tools at the head of a prompt stays byte for byte the same while a server restarts.
func TestMCPPromptPrefixStays(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withServers(m, map[string]any{"a": local("max_lifetime_seconds", 1)}))
	r.runtime.Connect()
	r.awaitServer("a", "connected")
	first := r.use("s1", "mcp__a__pid")
	awaitThat(t, "it is another process", func() bool { return r.use("s1", "mcp__a__pid") != first })
	requests := m.Requests()
	toolsOf := func(q fakemodel.Request) string { return fmt.Sprintf("%s", q.Parsed.Tools) }
	want := toolsOf(requests[0])
	if !strings.Contains(want, "mcp__a__pid") {
		t.Fatal(want)
	}
	for i, q := range requests {
		if got := toolsOf(q); got != want {
			t.Errorf("request %d has other tools: %s", i, got)
		}
	}
}
