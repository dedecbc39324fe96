package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

const crashEnv = "HERMES_TEST_CRASH" // root, workspace, version, step of the re-executed child

// crashVersions are three bundles a home goes through: each adds, changes and removes parts of every kind.
func crashVersion(ws string, version int) Bundle {
	b := testBundle(ws)
	switch version {
	case 1:
		b.HomeFiles["SOUL.md"] = []byte("soul 1")
	case 2:
		b.HomeFiles = map[string][]byte{"SOUL.md": []byte("soul 2"), "new/dir/f.md": []byte("f")}
		b.Documents = map[string][]byte{"AGENTS.md": []byte("brief 2"), "other/z.md": []byte("z")}
		b.Env = []EnvEntry{{"B", "2"}}
		b.Config = map[string]any{"model": map[string]any{"default": "m2"}, "x": map[string]any{"y": true}}
	}
	return b
}

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if args := os.Getenv(crashEnv); args != "" {
		crashChild(strings.Split(args, "|"))
		return
	}
	goleak.VerifyTestMain(m)
}

// crashChild materialises and kills itself with SIGKILL before the given step. It exits 0 when there was no such step.
func crashChild(args []string) {
	version, _ := strconv.Atoi(args[2])
	at, _ := strconv.Atoi(args[3])
	n := 0
	o := adopting()
	o.hook = func(string) {
		if n++; n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if _, err := Materialise(context.Background(), args[0], crashVersion(args[1], version), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// personalHome is what a person has in a home before it is adopted.
func personalHome(t *testing.T, root, ws string) {
	home := filepath.Join(root, "profiles", "alice")
	mustWrite(t, home+"/config.yaml", "# mine\nother: 1 # keep\n")
	mustWrite(t, home+"/.env", "HAND=written\n")
	mustWrite(t, home+"/notes/mine.md", "mine")
	mustWrite(t, ws+"/AGENTS.md", "person's")
	mustWrite(t, ws+"/docs/person.md", "person's")
}

// expected is the state that an uninterrupted run reaches.
func expected(t *testing.T, personal bool, versions ...int) (home, work map[string]string) {
	t.Helper()
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	if personal {
		personalHome(t, root, ws)
	}
	for _, v := range versions {
		mustMaterialise(t, root, crashVersion(ws, v), adopting())
	}
	return tree(t, root), tree(t, ws)
}

// A real kill -9 before every single change on disk: the next pass always reaches the state of an uninterrupted
// run, with no temporary file left, and the one after that writes nothing.
func TestMaterialise_Kill9Anywhere(t *testing.T) {
	for _, tc := range []struct {
		name     string
		personal bool
		before   []int
		version  int
	}{
		{name: "fresh home", version: 1},
		{name: "adopting a person's home", personal: true, version: 1},
		{name: "changing a home", before: []int{1}, version: 2},
		{name: "changing an adopted home", personal: true, before: []int{1}, version: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantHome, wantWork := expected(t, tc.personal, append(tc.before, tc.version)...)
			for at := 1; ; at++ {
				root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
				if tc.personal {
					personalHome(t, root, ws)
				}
				for _, v := range tc.before {
					mustMaterialise(t, root, crashVersion(ws, v), adopting())
				}
				killed := runCrashChild(t, root, ws, tc.version, at)
				// The bundle that follows a crash without adoption has to converge too, once intent is recorded.
				o := adopting()
				if !tc.personal {
					o = options()
				}
				mustMaterialise(t, root, crashVersion(ws, tc.version), o)
				if diff := cmp.Diff(wantHome, tree(t, root)); diff != "" {
					t.Fatalf("killed before step %d, home: %s", at, diff)
				}
				if diff := cmp.Diff(wantWork, tree(t, ws)); diff != "" {
					t.Fatalf("killed before step %d, workspace: %s", at, diff)
				}
				if r := mustMaterialise(t, root, crashVersion(ws, tc.version), options()); r.Changed {
					t.Fatalf("killed before step %d: the pass after recovery still writes %v", at, r)
				}
				if !killed {
					if at < 20 {
						t.Fatalf("only %d steps: the hook is not called at every change", at)
					}
					return
				}
			}
		})
	}
}

func runCrashChild(t *testing.T, root, ws string, version, at int) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%d|%d", crashEnv, root, ws, version, at))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	t.Fatalf("child at step %d: %v\n%s", at, err, out)
	return false
}

// A crash followed by another bundle, not the one that was being written.
func TestMaterialise_CrashThenOtherBundle(t *testing.T) {
	type crash struct{}
	wantHome, wantWork := expected(t, false, 1)
	for at := 1; ; at++ {
		root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
		finished := func() (finished bool) {
			defer func() {
				if r := recover(); r != nil && r != (crash{}) {
					panic(r)
				}
			}()
			n, o := 0, options()
			o.hook = func(string) {
				if n++; n == at {
					panic(crash{})
				}
			}
			_, err := Materialise(context.Background(), root, crashVersion(ws, 2), o)
			return err == nil
		}()
		mustMaterialise(t, root, crashVersion(ws, 1), options())
		if diff := cmp.Diff(wantHome, tree(t, root)); diff != "" {
			t.Fatalf("crashed before step %d, home: %s", at, diff)
		}
		if diff := cmp.Diff(wantWork, tree(t, ws)); diff != "" {
			t.Fatalf("crashed before step %d, workspace: %s", at, diff)
		}
		if finished {
			return
		}
	}
}
