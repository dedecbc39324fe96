package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/profilehome"
)

// sessionRoot is a home root with two profiles, of which alice has sessions.
type sessionRoot struct {
	t     *testing.T
	root  string
	paths home.Paths
}

var lastYear = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func newSessionRoot(t *testing.T) *sessionRoot {
	t.Helper()
	root, err := os.MkdirTemp("", "hermes-s-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	r := &sessionRoot{t: t, root: root}
	r.paths = profilehome.Write(t, root, "alice", profilehome.Demo())
	profilehome.Write(t, root, "bob", profilehome.Demo())
	r.write("20250301_a", lastYear, true, "where is the passport?", "In the blue drawer.")
	r.write("20261120_b", time.Now().Add(-time.Hour), false, "我想重启网关服务", "Done \x1b[31mred")
	return r
}

// write puts a session into alice's store.
func (r *sessionRoot) write(id string, at time.Time, ended bool, texts ...string) {
	r.t.Helper()
	ctx := r.t.Context()
	s, err := store.Open(ctx, r.paths.Store(), store.Options{Clock: clocktesting.NewFakePassiveClock(at)})
	if err == nil {
		defer func() {
			if err := s.Close(); err != nil {
				r.t.Error(err)
			}
		}()
		_, _, err = s.EnsureSession(ctx, store.Session{ID: id, Source: "cli", Model: "m"})
	}
	for i, text := range texts {
		if err == nil {
			_, err = s.Append(ctx, id, store.Message{Role: []string{"user", "assistant"}[i%2], Content: text})
		}
	}
	if err == nil && ended {
		err = s.EndSession(ctx, id, "user_exit")
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// hermes runs a command line about sessions in this process.
func (r *sessionRoot) hermes(args ...string) result {
	var out, errs bytes.Buffer
	c := &cli{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }, clock: clock.RealClock{}}
	args = append([]string{"sessions"}, args...)
	code := run(r.t.Context(), c, append(args, "--home", r.root))
	return result{args, out.String(), errs.String(), code}
}

// serve runs a gateway's API for alice.
func (r *sessionRoot) serve() {
	r.t.Helper()
	p := profile.Open(profile.Options{Paths: r.paths, Clock: clock.RealClock{}, Log: logr.Discard()})
	server, err := localapi.Serve(localapi.Config{Home: r.root, TempDir: os.TempDir(), Backend: oneProfile{p}, Log: logr.Discard()})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := p.Sessions(r.t.Context(), store.ListOptions{}); err != nil { // the store is open from here on
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			r.t.Error(err)
		}
		if err := p.Close(ctx); err != nil {
			r.t.Error(err)
		}
	})
}

type oneProfile struct{ p *profile.Runtime }

func (o oneProfile) Profile(name string) (localapi.Profile, bool) { return o.p, name == o.p.Name() }
func (o oneProfile) Profiles() []string                           { return []string{o.p.Name()} }

// check runs a command line and looks at its code and what it says on both streams.
func (r *sessionRoot) check(code int, says []string, args ...string) result {
	r.t.Helper()
	got := r.hermes(args...)
	if got.code != code {
		r.t.Errorf("code %d, want %d: %s", got.code, code, got)
	}
	for _, text := range says {
		if !strings.Contains(got.stdout+got.stderr, text) {
			r.t.Errorf("lacks %q: %s", text, got)
		}
	}
	return got
}

// The verbs do the same whether a gateway serves the profile or the store is opened here.
func TestSessionsVerbs(t *testing.T) {
	for _, served := range []bool{false, true} {
		t.Run(fmt.Sprintf("served=%t", served), func(t *testing.T) {
			r := newSessionRoot(t)
			if served {
				r.serve()
			}
			r.check(0, []string{"ID", "20261120_b", "我想重启网关服务", "20250301_a"}, "list", "-p", "alice")
			if got := r.check(0, nil, "list", "-p", "alice", "--since", "7d", "-o", "name"); got.stdout != "20261120_b\n" {
				t.Errorf("names %q", got.stdout)
			}
			r.check(0, []string{"there are more than 1"}, "list", "-p", "alice", "--limit", "1")
			r.check(0, []string{"renamed to \"Tax return\""}, "rename", "-p", "alice", "20250301", "Tax  return")
			got := r.check(0, []string{"In the blue drawer.", "Title:    Tax return"}, "show", "-p", "alice", "tax return")
			if strings.Contains(got.stdout, "\x1b") {
				t.Errorf("control characters reach the terminal: %q", got.stdout)
			}
			r.check(0, []string{"[blue]"}, "search", "-p", "alice", "blue", "drawer")
			r.check(0, []string{"20261120_b", "[网关]"}, "search", "-p", "alice", "网关", "-o", "wide")
			r.check(0, []string{"nothing was found"}, "search", "-p", "alice", "blue", "--session", "20261120_b")
			var hits []localapi.SearchHit
			if err := json.Unmarshal([]byte(r.hermes("search", "-p", "alice", "passport", "-o", "json").stdout), &hits); err != nil || len(hits) != 1 || hits[0].Title != "Tax return" {
				t.Errorf("hits %+v, %v", hits, err)
			}
			file := filepath.Join(t.TempDir(), "out.jsonl")
			r.check(0, nil, "export", "-p", "alice", "--all", "-f", file)
			if raw, err := os.ReadFile(file); err != nil || strings.Count(string(raw), "\n") != 2 {
				t.Errorf("exported %q, %v", raw, err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("exported file %v, %v", info, err)
			}
			r.check(0, []string{"# Tax return"}, "export", "-p", "alice", "Tax return", "--format", "markdown")
			r.check(0, []string{"would merge"}, "optimize", "-p", "alice", "--dry-run")
			r.check(0, []string{"merged the search index"}, "optimize", "-p", "alice")
			r.check(0, []string{"rewrote the file"}, "optimize-storage", "-p", "alice")
			r.check(0, []string{"session/20250301_a would be deleted"}, "prune", "-p", "alice", "--dry-run")
			r.check(2, []string{"add --yes"}, "prune", "-p", "alice")
			r.check(0, []string{"session/20250301_a deleted"}, "prune", "-p", "alice", "--yes")
			r.check(0, []string{"nothing to prune"}, "prune", "-p", "alice", "--yes")
			r.check(2, []string{"add --yes"}, "delete", "-p", "alice", "2026")
			r.check(0, []string{"session/20261120_b deleted"}, "delete", "-p", "alice", "2026", "--yes")
			r.check(0, []string{"there are no such sessions"}, "list", "-p", "alice")
		})
	}
}

// One clear error that says what to change.
func TestSessionsErrors(t *testing.T) {
	r := newSessionRoot(t)
	for name, c := range map[string]struct {
		code int
		says string
		args []string
	}{
		"no profile named":     {2, "which profile? name it with -p: alice, bob", []string{"list"}},
		"unknown profile":      {1, `there is no profile "carol" below`, []string{"list", "-p", "carol"}},
		"nothing stored":       {1, "profile bob has no sessions yet", []string{"list", "-p", "bob"}},
		"unknown session":      {1, `there is no session "x"`, []string{"show", "-p", "alice", "x"}},
		"ambiguous":            {1, `"202" fits 2 sessions: 20261120_b, 20250301_a`, []string{"show", "-p", "alice", "202"}},
		"output":               {2, "-o xml: use table", []string{"list", "-p", "alice", "-o", "xml"}},
		"since":                {2, "--since: \"soon\" is no time", []string{"list", "-p", "alice", "--since", "soon"}},
		"age":                  {2, "--older-than: \"-3d\" is no age", []string{"prune", "-p", "alice", "--older-than=-3d"}},
		"empty search":         {1, "say what to look for", []string{"search", "-p", "alice", " "}},
		"export without any":   {2, "use --all", []string{"export", "-p", "alice"}},
		"export format":        {2, "use jsonl or markdown", []string{"export", "-p", "alice", "--all", "--format", "xml"}},
		"rename without title": {2, "--clear", []string{"rename", "-p", "alice", "20250301_a"}},
		"unknown verb":         {2, "did you mean hermes sessions list", []string{"lsit"}},
	} {
		t.Run(name, func(t *testing.T) {
			sub := *r
			sub.t = t
			sub.check(c.code, []string{c.says}, c.args...)
		})
	}
	if _, err := os.Stat(filepath.Join(r.root, "profiles", "bob", "state.db")); err == nil {
		t.Error("looking made a store")
	}
}

// Nobody opens a store that another process owns and does not serve.
func TestSessionsStoreInUse(t *testing.T) {
	r := newSessionRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.CommandContext(t.Context(), self)
	owner.Env = append(os.Environ(), ownerEnv+"="+r.paths.Store())
	release, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(release.Close(), owner.Wait()); err != nil {
			t.Error(err)
		}
	}()
	if _, err := said.Read(make([]byte, 1)); err != nil { // it has the store
		t.Fatal(err)
	}
	r.check(75, []string{fmt.Sprintf("is in use by process %d", owner.Process.Pid), "stop it"}, "list", "-p", "alice")
}

// ownerEnv makes the test binary a process that owns a store until its standard input ends.
const ownerEnv = "HERMES_TEST_OWN_STORE"

func ownStore(path string) int {
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print("y")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// S-140, S-141: a foreign program that has the store open stops the three maintenance verbs; looking is free.
func TestS140SessionsRefusal(t *testing.T) {
	r := newSessionRoot(t)
	file, err := os.Open(r.paths.Store())
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.Command("sleep", "60")
	holder.Stdin = file
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Process.Kill(); _ = holder.Wait() }()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("  PID %d (sleep 60): state.db\n", holder.Process.Pid)
	for _, args := range [][]string{{"optimize"}, {"optimize-storage"}, {"prune", "--yes"}} {
		verb := args[0]
		args = append(args, "-p", "alice")
		got := r.check(1, []string{"hermes sessions " + verb + " refused: other processes have", who, "started with -p alice", "--force"}, args...)
		if got.stdout != "" || !strings.Contains(got.stderr, "\n") {
			t.Errorf("the refusal is not in lines on standard error: %s", got)
		}
		r.check(0, nil, append(args, "--dry-run")...)
		r.check(0, []string{"warning: went on", "sleep 60"}, append(args, "--force")...)
	}
}

func TestSessionsCompletion(t *testing.T) {
	r := newSessionRoot(t)
	r.check(0, nil, "rename", "-p", "alice", "20250301_a", "Tax return")
	for begun, want := range map[string]string{"2025": "20250301_a\tTax return\n", "ta": "Tax return\t20250301_a\n"} {
		var out, errs bytes.Buffer
		c := &cli{in: strings.NewReader(""), out: &out, err: &errs, getenv: func(string) string { return "" }, clock: clock.RealClock{}}
		if code := run(t.Context(), c, []string{"__complete", "sessions", "show", "-p", "alice", "--home", r.root, begun}); code != 0 || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q: code %d, %q %s", begun, code, out.String(), errs.String())
		}
	}
}
