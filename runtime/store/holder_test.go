package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// TestScanFindsRealHolders: S-142, with real processes.
func TestScanFindsRealHolders(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	if got, err := ScanHolders(ctx, path); err != nil || len(got) != 0 {
		t.Fatalf("nobody holds a store that does not exist: %+v, %v", got, err)
	}
	c := startChild(t, "hold", path)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, filepath.Join(link, "state.db")} {
		got, err := ScanHolders(ctx, name)
		want := []string{"state.db", "state.db-shm", "state.db-wal"}
		if err != nil || len(got) != 1 || got[0].PID != c.cmd.Process.Pid || !reflect.DeepEqual(got[0].Files, want) ||
			!strings.HasPrefix(got[0].Command, filepath.Base(os.Args[0])) || got[0].Uninspectable != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	// A log that was unlinked under the holder is still held, whatever took its place.
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ScanHolders(ctx, path)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Files, []string{"state.db", "state.db-shm", "state.db-wal (deleted)"}) {
		t.Errorf("unlinked log: %+v, %v", got, err)
	}
	if err := errors.Join(c.cmd.Process.Kill(), os.Remove(path+"-wal")); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if got, err := ScanHolders(ctx, path); err != nil || len(got) != 0 {
		t.Errorf("after it died: %+v, %v", got, err)
	}
	// In this process the store's lock decides, not the scan (S-144).
	open(t, path, testOptions(t))
	if got, err := ScanHolders(ctx, path); err != nil || len(got) != 0 {
		t.Errorf("this process: %+v, %v", got, err)
	}
}

// TestScanFailsClosed: S-142.
func TestScanFailsClosed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := ScanHolders(ctx, storePath(t))
	if !errors.Is(err, context.Canceled) || len(got) == 0 || got[0].PID != ScanFailedPID {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	got, err = ScanHolders(context.Background(), filepath.Join(loop, "state.db"))
	if err != nil || len(got) != 1 || got[0].PID != ScanFailedPID || got[0].Uninspectable == "" {
		t.Errorf("unresolvable path: %+v, %v", got, err)
	}
}

func TestJudgeHolder(t *testing.T) {
	main, wal := fileID{1, 10}, fileID{1, 11}
	w := watched{
		path: "/r/profiles/coder/state.db", dev: 1, home: newOwnHome("/r/profiles/coder/state.db"),
		names: map[fileID]string{main: "state.db", wal: "state.db-wal"},
	}
	hermes := []string{"/usr/bin/python3", "/opt/hermes/hermes", "gateway"}
	cases := []struct {
		id   string
		p    process
		want []string
		held bool
	}{
		{"S-142 by identity", process{open: []descriptor{{"/other/name", main}}}, []string{"state.db"}, true},
		{"S-142 sorted and once", process{open: []descriptor{{"b", wal}, {"a", main}, {"c", wal}}}, []string{"state.db", "state.db-wal"}, true},
		{"S-142 another file of that name", process{open: []descriptor{{w.path, fileID{1, 99}}}}, nil, false},
		{"S-142 unlinked", process{open: []descriptor{{w.path + "-shm (deleted)", fileID{1, 99}}}}, []string{"state.db-shm (deleted)"}, true},
		{"S-142 unlinked on another device", process{open: []descriptor{{w.path + "-shm (deleted)", fileID{2, 99}}}}, nil, false},
		{"S-142 uninspectable Hermes", process{argv: hermes, err: syscall.EACCES}, nil, true},
		{"S-142 uninspectable by short name", process{name: "hermes", err: syscall.EACCES}, nil, true},
		{"S-142 uninspectable other program", process{argv: []string{"/usr/bin/postgres"}, name: "postgres", err: syscall.EACCES}, nil, false},
		{"T-232", process{argv: append(hermes, "-p", "ops"), err: syscall.EACCES}, nil, false},
		{"T-232 evidence does not excuse a descriptor", process{argv: append(hermes, "-p", "ops"), open: []descriptor{{"x", main}}}, []string{"state.db"}, true},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			got, held := judgeHolder(c.p, w)
			if held != c.held || !reflect.DeepEqual(got.Files, c.want) || (got.Uninspectable != "") != (c.p.err != nil && held) {
				t.Errorf("got %+v, %v", got, held)
			}
		})
	}
}

func TestJudgeArgv(t *testing.T) {
	const custom, tim = "/srv/agent/state.db", "/r/profiles/tim/state.db"
	cases := []struct {
		id, database, argv string
		want               evidence
	}{
		{"S-143 database named", tim, "sqlite3 /r/profiles/tim/state.db", thisHome},
		{"S-143 sidecar named", tim, "cat /r/profiles/tim/state.db-wal", thisHome},
		{"S-143 database in a flag", tim, "x --db=file:/r/profiles/tim/state.db?mode=ro", thisHome},
		{"S-143 database beats selection", tim, "hermes -p ops --db /r/profiles/tim/state.db", thisHome},
		{"S-143 a longer name", tim, "cat /r/profiles/tim/state.db-walrus", thisHome}, // still a path in this profile
		{"T-232", tim, "/r/venv/bin/python /r/hermes -p ops gateway run", otherHome},
		{"S-143 own profile", tim, "hermes -p tim", thisHome},
		{"S-143 token-exact", tim, "hermes -p timothy", otherHome},
		{"S-143 joined", tim, "hermes --profile=tim", thisHome},
		{"S-143 selection beats paths", tim, "hermes -p ops --log /r/profiles/tim/log", otherHome},
		{"S-143 default profile may serve ours", tim, "hermes -p default gateway run", noEvidence},
		{"S-143 root may serve ours", tim, "hermes gateway run --home /r", noEvidence},
		{"S-143 other root", tim, "hermes gateway run --home /q", otherHome},
		{"S-143 home of ours", tim, "hermes --hermes-home /r/profiles/tim", thisHome},
		{"S-143 home of another", tim, "env HERMES_HOME=/r/profiles/ops hermes", otherHome},
		{"S-143 root and profile", tim, "env HERMES_HOME=/r hermes -p tim", thisHome},
		{"S-143 other root, same profile", tim, "env HERMES_HOME=/q hermes -p tim", otherHome},
		{"S-143 relative home says nothing", tim, "hermes --hermes-home here", noEvidence},
		{"S-143 path of another profile", tim, "hermes --log /r/profiles/ops/log", otherHome},
		{"S-143 path of ours beats another's", tim, "hermes /r/profiles/ops/log /r/profiles/tim/log", thisHome},
		{"S-143 similar path", tim, "hermes --log /r/profiles/timothy/log", otherHome},
		{"S-143 shared install", tim, "/r/hermes-agent/venv/bin/python /r/hermes-agent/hermes", noEvidence},
		{"S-143 program under a profile", tim, "/r/profiles/ops/bin/hermes", otherHome},
		{"S-143 program and a custom home", custom, "/srv/agent/profiles/ops/bin/hermes", noEvidence},
		{"S-143 argument and a custom home", custom, "hermes /srv/agent/profiles/ops/log", otherHome},
		{"S-143 profile of a default root", custom, "hermes -p ops", otherHome},
		{"S-143 default profile is the root's", custom, "hermes --home /srv/agent -p default", thisHome},
		{"S-143 nothing", tim, "hermes chat", noEvidence},
		{"S-143 no command line", tim, "", noEvidence},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			if got := judgeArgv(strings.Fields(c.argv), newOwnHome(c.database)); got != c.want {
				t.Errorf("%q: %d, want %d", c.argv, got, c.want)
			}
		})
	}
	h := newOwnHome(tim)
	h.real = func(path string) string { return strings.Replace(path, "/link", "/r", 1) }
	if got := judgeArgv([]string{"hermes", "--home", "/link", "-p", "tim"}, h); got != thisHome {
		t.Errorf("S-143: a home named through a link: %d", got)
	}
}

func TestCommandSummary(t *testing.T) {
	for _, c := range []struct {
		id   string
		argv []string
		want string
	}{
		{"S-119", []string{"/usr/local/bin/hermes", "gateway", "run"}, "PID 7 (hermes gateway run)"},
		{"S-119 white space", []string{"hermes", "-q", "a\n b\t\tc "}, "PID 7 (hermes -q a b c)"},
		{"S-119 80 characters", []string{"x", strings.Repeat("é", 100)}, "PID 7 (x " + strings.Repeat("é", 77) + "…)"},
		{"S-119 unavailable", nil, "PID 7 (command line unavailable)"},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := describeProcess(7, commandSummary(c.argv)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestRefusalText: S-141.
func TestRefusalText(t *testing.T) {
	r := Refusal{Command: "hermes sessions optimize", Database: "/h/state.db", Profile: "coder", Holders: []Holder{
		{PID: 90, Command: "hermes chat", Files: []string{"state.db", "state.db-wal"}},
		{PID: 80, Command: "hermes", Uninspectable: "permission\ndenied " + strings.Repeat("x", 200)},
		{PID: 7, Files: []string{"state.db"}},
	}}
	want := `hermes sessions optimize refused: other processes have /h/state.db open
  PID 7 (command line unavailable): state.db
  PID 90 (hermes chat): state.db, state.db-wal
  Not everything could be inspected, so quiet cannot be proven: PID 80 (hermes): permission denied ` + strings.Repeat("x", 101) + `…
Rewriting the store under them would strand every agent that has it open.
Stop them first: quit every Hermes program started with -p coder; hermes down stops the gateway.
To go ahead anyway, repeat the command with --force.
Guide: docs/session-storage-recovery.md
`
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r = Refusal{Command: "c", Database: "d", NoForce: true, Holders: []Holder{{PID: ScanFailedPID, Uninspectable: "no /proc"}}}
	if got := r.String(); strings.Contains(got, "--force") || !strings.Contains(got, "quiet cannot be proven: no /proc\n") || strings.Contains(got, "-1") {
		t.Errorf("got\n%s", got)
	}
}

func TestParseOpenFiles(t *testing.T) {
	const list = "p9\nchermes  gate\nf3\nn/h/state.db-wal\nf4\nn/h/state.db\nf5\nn/h/state.db\np7\ncself\nn/h/state.db\np5\ncidle\n\n"
	got, err := parseOpenFiles(strings.NewReader(list), 7)
	want := []Holder{{PID: 9, Command: "hermes gate", Files: []string{"state.db", "state.db-wal"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("S-142: %+v, %v", got, err)
	}
	if _, err := parseOpenFiles(strings.NewReader("px\n"), 7); err == nil {
		t.Error("S-142: nonsense was taken for quiet")
	}
}
