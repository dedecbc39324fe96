package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"hermes.dev/hermes/runtime/store"
)

// childVar makes the test binary a process that does one operation and kills itself at a step.
const childVar = "HERMES_BACKUP_CHILD"

func TestMain(m *testing.M) {
	if spec := os.Getenv(childVar); spec != "" {
		child(spec)
	}
	goleak.VerifyTestMain(m)
}

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// homeFiles is what the test home holds beside its store.
var homeFiles = map[string]string{
	"config.yaml": "model: {default: m}\n", "SOUL.md": "Be kind.\n", ".env": "API_KEY=sk-secret\n", "memories/MEMORY.md": "remember",
	"skills/a/SKILL.md": "skill", "skills/a/b/c.txt": "deep", "cron/jobs.json": `{"jobs":[]}`, "cron/output/x/y.md": "output",
	"workspace/notes.txt": "work", "logs/gateway.log": "log", "gateway.pid": "1", "auth.json": "{}", ".hermes-managed.json": "{}",
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// makeHome writes a home whose store has sessions with one message each.
func makeHome(t testing.TB, sessions int) string {
	t.Helper()
	home := t.TempDir()
	for path, text := range homeFiles {
		must(t, os.MkdirAll(filepath.Join(home, filepath.Dir(path)), 0o700))
		must(t, os.WriteFile(filepath.Join(home, path), []byte(text), 0o600))
	}
	addSessions(t, home, "s", sessions)
	return home
}

func addSessions(t testing.TB, home, prefix string, n int) {
	t.Helper()
	s := openStore(t, home)
	for i := range n {
		id := fmt.Sprintf("%s%d", prefix, i)
		_, _, err := s.EnsureSession(context.Background(), store.Session{ID: id, Source: "cli"})
		must(t, err)
		_, err = s.Append(context.Background(), id, store.Message{Role: "user", Content: "hello " + id})
		must(t, err)
	}
	must(t, s.Close())
}

func openStore(t testing.TB, home string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), filepath.Join(home, storeName), store.Options{Log: logr.Discard()})
	must(t, err)
	return s
}

// sessions lists what the home's store holds.
func sessions(t testing.TB, path string) []string {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{Log: logr.Discard()})
	must(t, err)
	list, err := s.Sessions(context.Background(), store.ListOptions{Limit: 1000})
	must(t, err)
	must(t, s.Close())
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

func checkStore(ctx context.Context, path string) (Figures, error) {
	f, err := store.Check(ctx, path)
	return Figures(f), err
}

func source(home string) Source {
	return Source{
		Profile: "alice", Home: home, Check: checkStore,
		Snapshot: func(ctx context.Context, path string) error {
			s, err := store.Open(ctx, filepath.Join(home, storeName), store.Options{Log: logr.Discard()})
			if err != nil {
				return err
			}
			return errors.Join(s.Snapshot(ctx, path), s.Close())
		},
	}
}

func target(home string) Target { return Target{Profile: "alice", Home: home, Check: checkStore} }

func dirOf(home string) string { return filepath.Join(home, "backups", "profile") }

func createAt(t testing.TB, home string, at time.Time, change ...func(*CreateOptions)) Backup {
	t.Helper()
	o := CreateOptions{Dir: dirOf(home), Trigger: Scheduled, Now: at, Log: logr.Discard()}
	for _, f := range change {
		f(&o)
	}
	b, err := Create(context.Background(), source(home), o)
	must(t, err)
	return b
}

// restore does all of a restore as an owner of the store does.
func restore(home, path string, o RestoreOptions) (Restored, error) {
	o.Log = logr.Discard()
	staged, err := Stage(context.Background(), target(home), path, false, o)
	if err != nil {
		return Restored{}, err
	}
	release, err := store.Claim(filepath.Join(home, storeName))
	if err != nil {
		return Restored{}, errors.Join(err, staged.Discard())
	}
	r, err := staged.Commit()
	return r, errors.Join(err, release())
}

// runChild runs an operation in a process of its own that is killed before its n-th step; done says that it came to its
// end first.
func runChild(t *testing.T, operation, home string, n int) (done bool) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVar+"="+strings.Join([]string{operation, home, fmt.Sprint(n)}, "|"))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return false
	}
	t.Fatalf("child %s at %d: %v\n%s", operation, n, err, out)
	return false
}

func child(spec string) {
	parts := strings.Split(spec, "|")
	var n int
	if _, err := fmt.Sscan(parts[2], &n); err != nil {
		panic(err)
	}
	step := func(string) {
		if n--; n < 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	var err error
	switch home := parts[1]; parts[0] {
	case "create":
		_, err = Create(context.Background(), source(home), CreateOptions{
			Dir: dirOf(home), Trigger: Scheduled, Now: start.Add(time.Hour), Log: logr.Discard(), step: step})
	case "create-limited":
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: uint64(n) << 10, Max: uint64(n) << 10}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
		_, err = Create(context.Background(), source(home), CreateOptions{Dir: dirOf(home), Trigger: Scheduled, Now: start.Add(time.Hour), Log: logr.Discard()})
	case "restore":
		list, listErr := List(dirOf(home), "alice")
		if listErr != nil {
			panic(listErr)
		}
		_, err = restore(home, list[0].Path, RestoreOptions{Files: true, Now: start.Add(2 * time.Hour), step: step})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tree maps the files below dir to their content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(data)
		return err
	}))
	return out
}
