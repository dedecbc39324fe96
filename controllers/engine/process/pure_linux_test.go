package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/host"
)

// G9: what belongs to a tree, as a table.
func TestBelongs_G9(t *testing.T) {
	run := tree{Main: host.ProcessID{PID: 100, StartTime: 500}, RunID: "r"}
	for name, c := range map[string]struct {
		p       procEntry
		has     traits
		endedBy int64
		want    bool
	}{
		"main":                      {procEntry{PID: 100, PGID: 100, SID: 100, StartTicks: 500}, traits{}, 0, true},
		"main as a zombie":          {procEntry{PID: 100, SID: 100, StartTicks: 500, Zombie: true}, traits{}, 0, false},
		"recycled main":             {procEntry{PID: 100, PGID: 100, SID: 100, StartTicks: 900}, traits{}, 600, false},
		"same session":              {procEntry{PID: 101, PGID: 101, SID: 100, StartTicks: 550}, traits{}, 600, true},
		"same group":                {procEntry{PID: 101, PGID: 100, SID: 7, StartTicks: 550}, traits{}, 600, true},
		"recycled session":          {procEntry{PID: 101, PGID: 101, SID: 100, StartTicks: 700}, traits{}, 600, false},
		"session of an earlier one": {procEntry{PID: 101, PGID: 101, SID: 100, StartTicks: 400}, traits{}, 600, false},
		"own session, marked":       {procEntry{PID: 102, PGID: 102, SID: 102, StartTicks: 700}, traits{Marked: true}, 600, true},
		"own session, descends":     {procEntry{PID: 102, PGID: 102, SID: 102, StartTicks: 700}, traits{Descends: true}, 0, true},
		"stranger":                  {procEntry{PID: 103, PGID: 103, SID: 103, StartTicks: 550}, traits{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run.belongs(c.p, c.has, c.endedBy); got != c.want {
				t.Errorf("belongs = %v", got)
			}
		})
	}
	if (tree{RunID: "r"}).belongs(procEntry{PID: 5}, traits{}, 0) {
		t.Error("a tree without main owns session 0")
	}
}

func TestDescends_G9(t *testing.T) {
	parents := map[int]int{10: 1, 11: 10, 12: 11, 20: 21, 21: 20}
	for pid, want := range map[int]bool{12: true, 11: true, 10: false, 20: false, 99: false} {
		if got := descends(pid, 10, parents); got != want {
			t.Errorf("descends(%d) = %v", pid, got)
		}
	}
}

// G9: a zombie somebody else waits for is left to them.
func TestJudgeZombie_G9(t *testing.T) {
	mains := runs{100: "r"}
	for name, c := range map[string]struct {
		p    procEntry
		seen time.Duration
		want zombieVerdict
	}{
		"a gateway":               {procEntry{PID: 100, SID: 100}, time.Hour, zombieLeave},
		"somebody's command":      {procEntry{PID: 5, SID: 1}, time.Hour, zombieLeave},
		"orphan of a gateway":     {procEntry{PID: 6, SID: 100}, 0, zombieCollect},
		"its process group":       {procEntry{PID: 6, SID: 9, PGID: 100}, 0, zombieCollect},
		"stranger, just ended":    {procEntry{PID: 7, SID: 7}, 0, zombieWatch},
		"stranger nobody awaited": {procEntry{PID: 7, SID: 7}, strangerPatience, zombieCollect},
	} {
		if got := judgeZombie(c.p, 1, mains, c.seen); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDecideUpdate(t *testing.T) {
	old, same, env := settings{"env": "1", "uid": "u"}, settings{"env": "1", "uid": "u"}, settings{"env": "2", "uid": "u"}
	uid := settings{"env": "1", "uid": "v"}
	for name, c := range map[string]struct {
		in      updateInput
		restart bool
		why     string
	}{
		"current":                  {updateInput{Running: old, Wanted: same, AutoUpdate: true}, false, ""},
		"settings, automatic":      {updateInput{Running: old, Wanted: env, AutoUpdate: true}, true, "settings differ: env"},
		"settings, manual":         {updateInput{Running: old, Wanted: env}, false, "settings differ: env"},
		"uid, manual":              {updateInput{Running: old, Wanted: uid}, true, "settings differ: uid"},
		"token, manual":            {updateInput{Running: old, Wanted: same, WantedToken: "1"}, true, "a restart was asked for"},
		"code, automatic":          {updateInput{Running: old, Wanted: same, RunningRevision: "a", InstalledRevision: "b", TriedRevision: "a", AutoUpdate: true}, true, "runs code a, installed is b"},
		"code, manual":             {updateInput{Running: old, Wanted: same, RunningRevision: "a", InstalledRevision: "b"}, false, "runs code a, installed is b"},
		"code, tried already":      {updateInput{Running: old, Wanted: same, RunningRevision: "a", InstalledRevision: "b", TriedRevision: "b", AutoUpdate: true}, false, "runs code a, installed is b"},
		"running code unknown":     {updateInput{Running: old, Wanted: same, InstalledRevision: "b", AutoUpdate: true}, false, ""},
		"installed code unknown":   {updateInput{Running: old, Wanted: same, RunningRevision: "a", AutoUpdate: true}, false, ""},
		"started with lost intent": {updateInput{Running: settings{"uid": "u"}, Wanted: same}, false, "settings differ: env"},
	} {
		if got := decideUpdate(c.in); got.Restart != c.restart || got.Why != c.why {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Every field of a workload that a running gateway cannot take over is noticed, and no other.
func TestSettingsNoticeEveryField(t *testing.T) {
	base := engine.Workload{UID: "u", Home: "/h", Env: []string{"A=1", "B=2"}, DrainTimeout: time.Second}
	for name, change := range map[string]func(*engine.Workload){
		"uid":               func(w *engine.Workload) { w.UID = "v" },
		"home":              func(w *engine.Workload) { w.Home = "/i" },
		"adoptExistingHome": func(w *engine.Workload) { w.AdoptExistingHome = true },
		"env":               func(w *engine.Workload) { w.Env = []string{"A=1B=2"} },
		"memoryLimit":       func(w *engine.Workload) { w.MemoryLimit = 1 },
		"logDir":            func(w *engine.Workload) { w.LogDir = "/l" },
		"drainTimeout":      func(w *engine.Workload) { w.DrainTimeout = 0 },
		"":                  func(w *engine.Workload) { w.RestartToken, w.AutoUpdate = "t", true },
	} {
		changed := base
		change(&changed)
		got := strings.Join(settingsOf(changed, Options{}).differing(settingsOf(base, Options{})), ",")
		if got != name {
			t.Errorf("change of %q noticed as %q", name, got)
		}
	}
}

func TestGatewayCommand(t *testing.T) {
	w := engine.Workload{Ref: engine.Ref{Namespace: "n", Name: "g"}, Home: "/h", DrainTimeout: 90 * time.Second, AdoptExistingHome: true}
	got := strings.Join(gatewayArgs(w, "/k", "r", "/l"), " ")
	want := "gateway run --home /h --namespace n --name g --kubeconfig /k --run-id r --drain-timeout 1m30s --log-dir /l --adopt-existing-home"
	if got != want {
		t.Errorf("arguments:\n%s\nwant:\n%s", got, want)
	}
	argv := append([]string{"/bin/hermes"}, gatewayArgs(w, "/k", "r", "/l")...)
	if !isGatewayOf(argv, w.Ref, "/k") || isGatewayOf(argv, w.Ref, "/other") || isGatewayOf(argv, engine.Ref{Namespace: "n", Name: "h"}, "/k") || isGatewayOf(nil, w.Ref, "/k") {
		t.Error("isGatewayOf")
	}
}

func TestGatewayEnvironment_G10(t *testing.T) {
	w := engine.Workload{Env: []string{"PATH=/mine", "=broken", "alsobroken", "GOMEMLIMIT=1"}, MemoryLimit: 1000}
	got := gatewayEnv([]string{"PATH=/bin", "HOME=/h"}, w, "r")
	if want := []string{"PATH=/mine", "HOME=/h", "GOMEMLIMIT=900", "HERMES_RUN_ID=r"}; !slices.Equal(got, want) {
		t.Errorf("environment %q, want %q", got, want)
	}
}

// G7: the words that name the cause.
func TestLastWords_G7(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		log, quote string
		oom        bool
	}{
		"empty":     {"\n\n", "", false},
		"last":      {"a\nb\nc\nd\n", "b | c | d", false},
		"repeated":  {"a\nretry\nretry\nretry\n", "retry", false},
		"panic":     {"start\npanic: boom\n\tcause\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2\n", "panic: boom | cause", false},
		"oom":       {"runtime: out of memory: x\nfatal error: runtime: out of memory\ngoroutine 1\n", "fatal error: runtime: out of memory", true},
		"only said": {"model says out of memory\n", "model says out of memory", false},
		"control":   {"\x1b[31mred\x00\n", "[31mred", false},
		"long":      {long, long[:maxLine] + "…", false},
	} {
		if got := parseLastWords([]byte(c.log)); got.Quote != c.quote || got.OutOfMemory != c.oom {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// G7: a log that grows above its bound keeps its newest part.
func TestBoundRunLog_G7(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run-a.log")
	gateway, err := openRunLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer gateway.Close()
	if _, err := gateway.WriteString(strings.Repeat("0123456789", 20)); err != nil {
		t.Fatal(err)
	}
	if err := boundRunLog(path, 200, 25); err != nil {
		t.Fatal(err)
	}
	if read(t, path) == "" {
		t.Fatal("bounded a log that is not above its limit")
	}
	if err := boundRunLog(path, 199, 25); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.WriteString("more"); err != nil {
		t.Fatal(err)
	}
	if got, old := read(t, path), read(t, path+".old"); got != "more" || old != "5678901234567890123456789"[0:25] {
		t.Errorf("log %q, old %q", got, old)
	}
	if info := stat(t, path+".old"); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	good := Options{Binary: "/b", Dir: filepath.Join(t.TempDir(), "e"), Kubeconfig: "/k"}
	for want, change := range map[string]func(*Options){
		"hermes binary":   func(o *Options) { o.Binary = "hermes" },
		"state directory": func(o *Options) { o.Dir = "" },
		"kubeconfig":      func(o *Options) { o.Kubeconfig = "k" },
	} {
		bad := good
		change(&bad)
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about the %s, got %v", want, err)
		}
	}
}

// The engine's own trouble has a reason, an attempt to come, and no crash of its own.
func TestMissingBinaryIsSaid(t *testing.T) {
	w := newWorld(t)
	w.opts.Binary = filepath.Join(os.TempDir(), "no-such-hermes")
	e := w.engine()
	o := w.awaitReason(e, w.workload(), v1alpha1.ReasonEngineUnavailable)
	if !strings.Contains(o.Message, "no such file") || o.NextAttempt.IsZero() || o.Stalled {
		t.Errorf("observation: %+v", o)
	}
	w.stop(e)
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a b) c) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 999 1 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := parseStat(data); !ok && p != (procEntry{}) {
			t.Errorf("half an entry: %+v", p)
		}
	})
}
