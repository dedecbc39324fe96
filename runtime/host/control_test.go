package host

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// fakeGateway answers control requests; nil functions give plain answers.
type fakeGateway struct {
	identify func() Identity
	status   func() Status
	rescan   func(context.Context) Rescan
	drain    func(context.Context) DrainState
}

func (g fakeGateway) Identify() Identity {
	if g.identify != nil {
		return g.identify()
	}
	return Identity{PID: os.Getpid(), StartTime: Observe(os.Getpid()).StartTime, HermesHome: "/r/profiles/ops", Profile: "ops", Supervisor: SupervisorManual}
}

func (g fakeGateway) Status() Status {
	if g.status != nil {
		return g.status()
	}
	return NewStatus(RuntimeState{PIDRecord: NewPIDRecord("/r", nil), GatewayState: "running"}, os.Getpid(), time.Unix(0, 0))
}

func (g fakeGateway) Rescan(ctx context.Context) Rescan {
	if g.rescan != nil {
		return g.rescan(ctx)
	}
	return Rescan{Rescanned: true, ServedProfiles: ServedProfiles{"default"}}
}

func (g fakeGateway) Drain(ctx context.Context) DrainState {
	if g.drain != nil {
		return g.drain(ctx)
	}
	return DrainState{Draining: true, ActiveWork: 3, PID: os.Getpid(), DrainTimeoutSeconds: 30}
}

// shortDir returns a directory whose path leaves room for socket names.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// homeWithSocketPath returns an existing home whose direct socket path has exactly the given number of bytes.
func homeWithSocketPath(t *testing.T, length int) string {
	t.Helper()
	base := shortDir(t)
	home := filepath.Join(base, strings.Repeat("h", length-len(base)-len("//"+SocketFileName)))
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home
}

func serve(t *testing.T, cfg ServerConfig) *Server {
	t.Helper()
	if cfg.TempDir == "" {
		cfg.TempDir = shortDir(t)
	}
	if cfg.Handler == nil {
		cfg.Handler = fakeGateway{}
	}
	cfg.Log = logr.Discard()
	server, err := Serve(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// T-022, G-240: 100 bytes are bound directly, 101 go to the temporary directory with a pointer, and both are reachable.
func TestSocketPathLength(t *testing.T) {
	for _, tc := range []struct {
		length  int
		pointer bool
	}{{60, false}, {100, false}, {101, true}, {180, true}} {
		home := homeWithSocketPath(t, tc.length)
		direct, pointer := filepath.Join(home, SocketFileName), filepath.Join(home, PointerFileName)
		if len(direct) != tc.length {
			t.Fatalf("test built %d bytes", len(direct))
		}
		server := serve(t, ServerConfig{Home: home})
		if exists(t, direct) == tc.pointer || exists(t, pointer) != tc.pointer {
			t.Errorf("%d bytes: bound directly %v, pointer %v", tc.length, exists(t, direct), exists(t, pointer))
		}
		if content, _ := os.ReadFile(pointer); tc.pointer && strings.TrimSpace(string(content)) != server.Path() {
			t.Errorf("%d bytes: pointer says %q, bound is %q", tc.length, content, server.Path())
		}
		if info, err := os.Lstat(server.Path()); err != nil || info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("%d bytes: %v, %v", tc.length, info.Mode(), err)
		}
		if identity, err := NewClient(home).Identify(t.Context()); err != nil || identity.PID != os.Getpid() {
			t.Errorf("%d bytes: %+v, %v", tc.length, identity, err)
		}
		if err := server.Close(); err != nil || exists(t, server.Path()) || exists(t, pointer) {
			t.Errorf("%d bytes: after close: %v, socket %v, pointer %v", tc.length, err, exists(t, server.Path()), exists(t, pointer))
		}
	}
}

// G-240: where a long path goes, and that the name is the home's.
func TestSocketPathElsewhere(t *testing.T) {
	long := "/" + strings.Repeat("x", 120)
	at := func(home, temp string) string { return SocketPath(home, temp).Path }
	if got := at(long, "/var/tmp"); filepath.Dir(got) != "/var/tmp" || !strings.HasPrefix(filepath.Base(got), "hermes-gw-") || len(filepath.Base(got)) != len("hermes-gw-0123456789abcdef.sock") {
		t.Errorf("placed at %s", got)
	}
	if got := at(long, "/"+strings.Repeat("t", 90)); filepath.Dir(got) != "/tmp" {
		t.Errorf("long temporary directory: %s", got)
	}
	if got := at(long, ""); filepath.Dir(got) != "/tmp" {
		t.Errorf("no temporary directory: %s", got)
	}
	if at(long, "/t") != at(long+"/", "/t") || at(long, "/t") == at(long+"y", "/t") {
		t.Error("the name does not follow the home")
	}
	if got := SocketPath(long, "/t").Pointer; got != filepath.Join(long, "gateway.sock.path") {
		t.Errorf("pointer at %s", got)
	}
}

// G-241: leftovers are replaced, and a later gateway's socket survives the earlier one's end.
func TestBindReplacesLeftovers(t *testing.T) {
	home := shortDir(t)
	if err := os.WriteFile(filepath.Join(home, SocketFileName), []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	first := serve(t, ServerConfig{Home: home})
	second := serve(t, ServerConfig{Home: home, Handler: fakeGateway{identify: func() Identity { return Identity{PID: 77} }}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if identity, err := NewClient(home).Identify(t.Context()); err != nil || identity.PID != 77 {
		t.Errorf("after the earlier gateway ended: %+v, %v", identity, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != 0 {
		t.Errorf("left in the home: %v, %v", entries, err)
	}
	if _, err := Serve(ServerConfig{Home: filepath.Join(home, "gone"), Handler: fakeGateway{}, Log: logr.Discard()}); err == nil {
		t.Error("bound in a missing home")
	}
	if _, err := Serve(ServerConfig{Home: home}); err == nil {
		t.Error("served without a handler")
	}
}

// T-025, G-244: exact keys; without served_profiles the served set is the gateway's own profile.
func TestIdentify(t *testing.T) {
	home := shortDir(t)
	serve(t, ServerConfig{Home: home, Handler: fakeGateway{identify: func() Identity {
		return Identity{PID: 12, StartTime: 34, HermesHome: "/r/profiles/ops", Profile: "ops", Supervisor: SupervisorSystemd,
			CodeIdentity: CodeIdentity{CodeSHA: "c0de", Revision: "1f3c9ab"}, RunID: "run-1", Instance: "inst-1", APISocket: "/r/api.sock"}
	}}})
	const want = `{"ok":true,"protocol":1,"result":{"protocol":1,"kind":"hermes-gateway","pid":12,"start_time":34,"hermes_home":"/r/profiles/ops",` +
		`"profile":"ops","supervisor":"systemd","code_sha":"c0de","revision":"1f3c9ab","run_id":"run-1","instance":"inst-1","api_socket":"/r/api.sock"},"id":"x"}` + "\n"
	if got := exchangeRaw(t, home, `{"verb":"identify","id":"x","protocol":1}`+"\n"); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	identity, err := NewClient(home).Identify(t.Context())
	if served := identity.Served(); err != nil || len(served) != 1 || served[0] != "ops" || identity.RunID != "run-1" || identity.Process() != (ProcessID{12, 34}) {
		t.Errorf("%+v, %v", identity, err)
	}
}

// G-244: a multiplexing gateway says so even while it serves nobody, and foreign spellings reduce to names.
func TestServedProfiles(t *testing.T) {
	for _, tc := range []struct{ data, want string }{
		{`{"profile":"ops"}`, "ops"},
		{`{"profile":"ops","served_profiles":null}`, "ops"},
		{`{"profile":"ops","served_profiles":"default"}`, "ops"},
		{`{"profile":"ops","served_profiles":[]}`, ""},
		{`{"profile":"ops","served_profiles":["default","coder"]}`, "default coder"},
		{`{"served_profiles":[{"profile_id":"coder","home":"/x"},{"home":"/r/profiles/ops/"},{"home":"/r"},{"other":1},7,null,""]}`, "coder ops default"},
		{`{}`, ""},
	} {
		var identity Identity
		if err := json.Unmarshal([]byte(tc.data), &identity); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(identity.Served(), " "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.data, got, tc.want)
		}
	}
	data, err := json.Marshal(Identity{ServedProfiles: ServedProfiles{}})
	if err != nil || !strings.Contains(string(data), `"served_profiles":[]`) {
		t.Errorf("%s, %v", data, err)
	}
}

// G-245, G-246 and drain: the other verbs from end to end.
func TestOtherVerbs(t *testing.T) {
	home := shortDir(t)
	no := false
	serve(t, ServerConfig{Home: home, Handler: fakeGateway{
		status: func() Status {
			return NewStatus(RuntimeState{PIDRecord: PIDRecord{Kind: Kind, PID: 12}, GatewayState: "running", ActiveWork: 2}, 12, time.Unix(1_700_000_000, 0))
		},
		rescan: func(context.Context) Rescan {
			return Rescan{Reason: "serves one profile", Multiplex: &no, Pending: true}
		},
	}})
	client := NewClient(home)
	status, err := client.Status(t.Context())
	if err != nil || status.PID != 12 || status.ActiveWork != 2 || status.AnsweringPID != 12 || status.Protocol != 1 || status.AnsweredAt != "2023-11-14T22:13:20.000000Z" {
		t.Errorf("status %+v, %v", status, err)
	}
	rescan, err := client.RescanProfiles(t.Context())
	if err != nil || rescan.Multiplex == nil || *rescan.Multiplex || !rescan.Pending || rescan.Rescanned {
		t.Errorf("rescan %+v, %v", rescan, err)
	}
	raw := exchangeRaw(t, home, `{"verb":"rescan-profiles"}`+"\n")
	if want := `"result":{"added":[],"removed":[],"rescanned":false,"reason":"serves one profile","served_profiles":[],"multiplex":false,"pending":true}`; !strings.Contains(raw, want) {
		t.Errorf("rescan answered %s", raw)
	}
	drain, err := client.Drain(t.Context())
	if err != nil || !drain.Draining || drain.ActiveWork != 3 || drain.DrainTimeoutSeconds != 30 {
		t.Errorf("drain %+v, %v", drain, err)
	}
}
