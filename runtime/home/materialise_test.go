package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
)

var testTime = time.Date(2026, 8, 27, 9, 0, 0, 0, time.UTC)

func options() Options { return Options{Now: testTime, Log: logr.Discard()} }

func adopting() Options { o := options(); o.AdoptExisting = true; return o }

// testBundle is a small home with every kind of part; its documents go to ws.
func testBundle(ws string) Bundle {
	return Bundle{
		Version: 1, Namespace: "team", Profile: "alice", Gateway: "gw", UID: "u-1",
		Config:             map[string]any{"model": map[string]any{"default": "m1", "provider": "openai"}, "toolsets": []any{"file"}},
		Env:                []EnvEntry{{"A", "1"}, {"SECRET", "s3 cr'et\n\"#$x"}},
		HomeFiles:          map[string][]byte{"SOUL.md": []byte("soul"), "memories/a/b.md": []byte("deep"), "notes/n.md": []byte("n")},
		WorkspaceDirectory: ws,
		Documents:          map[string][]byte{"AGENTS.md": []byte("brief"), "docs/x/y.md": []byte("y")},
	}
}

func mustMaterialise(t *testing.T, root string, b Bundle, o Options) Result {
	t.Helper()
	r, err := Materialise(context.Background(), root, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// tree is every path below dir with its content, without the record.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == recordName {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			out[rel+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			out[rel], _ = os.Readlink(path)
		default:
			out[rel] = mustRead(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stamps is every path below dir with inode and times, to prove that nothing was written.
func stamps(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := d.Info()
			if err != nil {
				return err
			}
			out[path] = fmt.Sprint(stampOf(fi), fi.Mode())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMaterialise_WritesHome_NA15_N19(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	b := testBundle(ws)
	r := mustMaterialise(t, root, b, options())
	home := filepath.Join(root, "profiles", "alice")
	if r.Paths.Home != home || !r.Changed || r.Hash != b.Hash() {
		t.Errorf("%+v", r)
	}
	for path, want := range map[string]string{
		home + "/SOUL.md": "soul", home + "/memories/a/b.md": "deep", ws + "/AGENTS.md": "brief", ws + "/docs/x/y.md": "y", home + "/.managed": "hermes-operator\n",
	} {
		if got := mustRead(t, path); got != want {
			t.Errorf("%s = %q", path, got)
		}
	}
	for _, d := range append(LayoutDirs(), ".", "../../profiles") {
		if fi, err := os.Stat(filepath.Join(home, d)); err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", d, fi, err)
		}
	}
	env, err := ParseEnv([]byte(mustRead(t, home+"/.env")))
	if diff := cmp.Diff(b.Env, env); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if owner := Managed("", ReadMarker(home)); owner != ManagedOperator {
		t.Errorf("N-33: owner %q", owner)
	}
	if !IsProfileHome(home) {
		t.Error("G-112: not a profile")
	}
}

// NA-26, N-20, N-27: modes do not depend on the umask.
func TestMaterialise_Modes_NA26(t *testing.T) {
	for _, mask := range []int{0, 0o077} {
		old := syscall.Umask(mask)
		root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
		r, err := Materialise(context.Background(), root, testBundle(ws), options())
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{r.Paths.Home, ws} {
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				fi, err := d.Info()
				if want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; err == nil && fi.Mode().Perm() != want {
					t.Errorf("umask %o: %s is %v", mask, path, fi.Mode())
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// NA-7, N-25: a second pass writes nothing at all.
func TestMaterialise_SecondPassWritesNothing_NA7(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	b := testBundle(ws)
	mustMaterialise(t, root, b, options())
	before := stamps(t, root, ws)
	r, err := Materialise(context.Background(), root, b, Options{Log: logr.Discard(), hook: func(s string) { t.Errorf("second pass did %s", s) }})
	if err != nil || r.Changed {
		t.Errorf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(before, stamps(t, root, ws)); diff != "" {
		t.Error(diff)
	}
}

// NA-8, NQ-5: what is no longer declared goes, and only that.
func TestMaterialise_RemovesUndeclared_NA8_NQ5(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	b := testBundle(ws)
	r := mustMaterialise(t, root, b, options())
	home := r.Paths.Home
	mustWrite(t, home+"/notes/mine.md", "mine")
	mustWrite(t, home+"/state.db", "db")
	b.HomeFiles = map[string][]byte{"SOUL.md": []byte("soul2")}
	b.Documents = map[string][]byte{}
	b.Env = []EnvEntry{{"A", "1"}}
	b.Config = map[string]any{"model": map[string]any{"default": "m2"}}
	mustMaterialise(t, root, b, options())
	for _, gone := range []string{"notes/n.md", "memories/a"} {
		if exists(filepath.Join(home, gone)) {
			t.Errorf("%s is still there", gone)
		}
	}
	if mustRead(t, home+"/notes/mine.md") != "mine" || mustRead(t, home+"/state.db") != "db" || !exists(home+"/memories") {
		t.Error("a person's file or a layout directory went")
	}
	if exists(ws+"/docs") || exists(ws+"/AGENTS.md") || !exists(ws) {
		t.Error("documents are still there, or the directory went")
	}
	if env := mustRead(t, home+"/.env"); strings.Contains(env, "SECRET") {
		t.Error("N-25: the secret stayed")
	}
	if got := mustRead(t, home+"/config.yaml"); got != "model:\n  default: m2\n" {
		t.Errorf("config.yaml:\n%s", got)
	}
	b.Env = nil
	mustMaterialise(t, root, b, options())
	if env, err := ParseEnv([]byte(mustRead(t, home+"/.env"))); err != nil || len(env) != 0 {
		t.Errorf("NQ-1: %v %v", env, err)
	}
	// The directory that a person used stays ours to remove: once it is empty it goes.
	if err := os.Remove(home + "/notes/mine.md"); err != nil {
		t.Fatal(err)
	}
	mustMaterialise(t, root, b, options())
	if exists(home + "/notes") {
		t.Error("empty directory of ours stayed")
	}
	b.WorkspaceDirectory = filepath.Join(filepath.Dir(ws), "other")
	b.Documents = map[string][]byte{"AGENTS.md": []byte("moved")}
	mustMaterialise(t, root, b, options())
	if exists(ws) || mustRead(t, b.WorkspaceDirectory+"/AGENTS.md") != "moved" {
		t.Error("documents did not move with the directory")
	}
}

func TestMaterialise_PutsBackEditedFiles(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	b := testBundle(ws)
	home := mustMaterialise(t, root, b, options()).Paths.Home
	mustWrite(t, home+"/SOUL.md", "edited")
	mustWrite(t, home+"/.env", "A=stolen\n")
	if err := os.Remove(ws + "/AGENTS.md"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home+"/notes/n.md", 0o644); err != nil {
		t.Fatal(err)
	}
	r := mustMaterialise(t, root, b, options())
	if len(r.Written) != 3 {
		t.Errorf("wrote %v", r.Written)
	}
	if mustRead(t, home+"/SOUL.md") != "soul" || mustRead(t, ws+"/AGENTS.md") != "brief" || strings.Contains(mustRead(t, home+"/.env"), "stolen") {
		t.Error("declared content is not back")
	}
	if fi, _ := os.Stat(home + "/notes/n.md"); fi.Mode().Perm() != 0o600 {
		t.Error("mode is not back")
	}
}

func TestMaterialise_FileConflict(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	mustWrite(t, ws+"/AGENTS.md", "a person's")
	mustWrite(t, ws+"/docs/x/y.md", "y") // the declared content already
	b := testBundle(ws)
	r, err := Materialise(context.Background(), root, b, options())
	var conflict *ErrFileConflict
	if !errors.As(err, &conflict) || conflict.Path != ws+"/AGENTS.md" {
		t.Fatalf("err = %v", err)
	}
	if mustRead(t, ws+"/AGENTS.md") != "a person's" {
		t.Error("a person's file was written over")
	}
	if !strings.Contains(mustRead(t, r.Paths.Env()), "SECRET") {
		t.Error("one conflict held the rest back")
	}
	before := stamps(t, root, ws)
	if _, err := Materialise(context.Background(), root, b, options()); !errors.As(err, &conflict) {
		t.Errorf("second pass: %v", err)
	}
	if diff := cmp.Diff(before, stamps(t, root, ws)); diff != "" {
		t.Errorf("waiting on a conflict writes: %s", diff)
	}
	r = mustMaterialise(t, root, b, adopting())
	if len(r.BackedUp) != 1 || mustRead(t, r.BackedUp[0]) != "a person's" || mustRead(t, ws+"/AGENTS.md") != "brief" {
		t.Errorf("adopted: %+v", r)
	}
	b.Documents = nil
	mustMaterialise(t, root, b, options())
	if !exists(ws + "/docs/x/y.md") {
		t.Error("a file that was there before us was removed")
	}
}

// NQ-2: a hand-written home is refused untouched, and adopted with a copy of what is written over.
func TestMaterialise_UnmanagedHome_NQ2(t *testing.T) {
	root := t.TempDir()
	mustWrite(t, root+"/.env", "OLD=1\n")
	mustWrite(t, root+"/config.yaml", "# mine\nmodel:\n  default: old # keep?\n  extra: 1\nother: [1, 2]\n")
	mustWrite(t, root+"/state.db", "db")
	b := testBundle("")
	b.Profile, b.Documents = "default", nil
	before := tree(t, root)
	_, err := Materialise(context.Background(), root, b, options())
	var conflict *ErrFileConflict
	if !errors.As(err, &conflict) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" || exists(root+"/"+recordName) {
		t.Errorf("an unmanaged home was touched: %s", diff)
	}
	r := mustMaterialise(t, root, b, adopting())
	if len(r.BackedUp) != 2 {
		t.Errorf("backups: %v", r.BackedUp)
	}
	backups := tree(t, root+"/backups")
	if len(backups) != 3 { // "./" and two files
		t.Errorf("backups: %v", backups)
	}
	config := mustRead(t, root+"/config.yaml")
	for _, s := range []string{"# mine", "# keep?", "default: m1", "extra: 1", "other: [1, 2]"} {
		if !strings.Contains(config, s) {
			t.Errorf("config.yaml lost %q:\n%s", s, config)
		}
	}
	if mustRead(t, root+"/state.db") != "db" {
		t.Error("state.db was touched")
	}
}

func TestMaterialise_HomeInUse(t *testing.T) {
	root := t.TempDir()
	b := testBundle(filepath.Join(t.TempDir(), "ws"))
	mustMaterialise(t, root, b, options())
	other := b
	other.Namespace = "other-team"
	_, err := Materialise(context.Background(), root, other, adopting())
	var inUse *ErrHomeInUse
	if !errors.As(err, &inUse) || !strings.Contains(err.Error(), "team/alice") {
		t.Errorf("err = %v", err)
	}
	again := b
	again.UID = "u-2" // deleted and made again
	mustMaterialise(t, root, again, options())
}

// N-21: through a symlink its target is written, and the link stays.
func TestMaterialise_SymlinkedConfig_N21(t *testing.T) {
	root, dotfiles := t.TempDir(), t.TempDir()
	b := testBundle("")
	b.Documents = nil
	home := mustMaterialise(t, root, b, options()).Paths.Home
	mustWrite(t, dotfiles+"/hermes.yaml", "mine: 1\n")
	if err := os.Chmod(dotfiles+"/hermes.yaml", 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(home + "/config.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles+"/hermes.yaml", home+"/config.yaml"); err != nil {
		t.Fatal(err)
	}
	mustMaterialise(t, root, b, options())
	if target, err := os.Readlink(home + "/config.yaml"); err != nil || target != dotfiles+"/hermes.yaml" {
		t.Errorf("the link is gone: %v", err)
	}
	got := mustRead(t, dotfiles+"/hermes.yaml")
	if !strings.Contains(got, "mine: 1") || !strings.Contains(got, "default: m1") {
		t.Errorf("target:\n%s", got)
	}
	if fi, _ := os.Stat(dotfiles + "/hermes.yaml"); fi.Mode().Perm() != 0o644 {
		t.Errorf("mode of the target changed to %v", fi.Mode())
	}
}

// Nothing is written through a symlinked directory that leads out of the home.
func TestMaterialise_SymlinkEscape(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	home := filepath.Join(root, "profiles", "alice")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"memories", "notes"} {
		if err := os.Symlink(outside, filepath.Join(home, dir)); err != nil {
			t.Fatal(err)
		}
	}
	b := testBundle("")
	b.Documents = nil
	_, err := Materialise(context.Background(), root, b, adopting())
	var conflict *ErrFileConflict
	if !errors.As(err, &conflict) {
		t.Errorf("err = %v", err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 0 {
		t.Errorf("written outside: %v", entries)
	}
	if mustRead(t, home+"/SOUL.md") != "soul" {
		t.Error("the rest was not written")
	}
}

// A workspace that leads into a home cannot reach another profile or the runtime's own files.
func TestMaterialise_WorkspaceInsideHomes(t *testing.T) {
	root := t.TempDir()
	for name, tc := range map[string]struct{ dir, doc string }{
		"another profile": {filepath.Join(root, "profiles", "bob"), "x.md"},
		"the root":        {root, "config.yaml"},
		"own config":      {filepath.Join(root, "profiles", "alice"), "config.yaml"},
		"home file twice": {filepath.Join(root, "profiles", "alice"), "SOUL.md"},
		"from above":      {filepath.Dir(root), filepath.Base(root) + "/profiles/bob/.env"},
	} {
		b := testBundle(tc.dir)
		b.Documents = map[string][]byte{tc.doc: []byte("x")}
		_, err := Materialise(context.Background(), root, b, options())
		var invalid *ErrPathInvalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if exists(filepath.Join(root, "profiles", "bob")) || exists(root+"/config.yaml") {
			t.Errorf("%s: written", name)
		}
	}
	b := testBundle(filepath.Join(root, "profiles", "alice", "workspace"))
	mustMaterialise(t, root, b, options())
}

// A config.yaml that cannot be merged is left as it is, and a revoked secret goes all the same.
func TestMaterialise_MalformedConfig(t *testing.T) {
	root := t.TempDir()
	b := testBundle("")
	b.Documents = nil
	paths := mustMaterialise(t, root, b, options()).Paths
	for _, broken := range []string{"a: [", "a: 1\na: 2\n", "- x\n", "a: 1\n---\nb: 2\n"} {
		mustWrite(t, paths.Config(), broken)
		b.Env = []EnvEntry{{"N", broken}}
		_, err := Materialise(context.Background(), root, b, options())
		var unreadable *ErrConfigUnreadable
		if !errors.As(err, &unreadable) || mustRead(t, paths.Config()) != broken {
			t.Errorf("%q: %v", broken, err)
		}
		if env := mustRead(t, paths.Env()); strings.Contains(env, "SECRET") {
			t.Error("the secret was not revoked")
		}
	}
}
