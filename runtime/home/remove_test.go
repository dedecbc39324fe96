package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemove_NamedProfile(t *testing.T) {
	root, ws := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	b := testBundle(ws)
	home := mustMaterialise(t, root, b, options()).Paths.Home
	bob := b
	bob.Profile, bob.WorkspaceDirectory, bob.Documents = "bob", "", nil
	bobHome := mustMaterialise(t, root, bob, options()).Paths.Home
	mustWrite(t, home+"/state.db", "db")
	mustWrite(t, home+"/anything/else", "x")
	mustWrite(t, ws+"/mine.go", "mine")
	mustWrite(t, ws+"/docs/x/y.md", "a person edited it")
	before := tree(t, bobHome)

	stranger := b.Identity()
	stranger.Namespace = "other"
	var inUse *ErrHomeInUse
	if err := Remove(context.Background(), root, stranger); !errors.As(err, &inUse) || !exists(home+"/state.db") {
		t.Fatalf("another owner: %v", err)
	}
	for range 2 { // the second time there is nothing left to do
		if err := Remove(context.Background(), root, b.Identity()); err != nil {
			t.Fatal(err)
		}
	}
	if exists(home) || exists(ws+"/AGENTS.md") {
		t.Error("the home or a document of ours is still there")
	}
	if mustRead(t, ws+"/mine.go") != "mine" || mustRead(t, ws+"/docs/x/y.md") != "a person edited it" {
		t.Error("a person's file went")
	}
	if diff := cmp.Diff(before, tree(t, bobHome)); diff != "" {
		t.Errorf("another profile was touched: %s", diff)
	}
}

func TestRemove_DefaultProfileKeepsTheRoot(t *testing.T) {
	root := t.TempDir()
	b := testBundle("")
	b.Profile, b.Documents = "default", nil
	mustMaterialise(t, root, b, options())
	work := b
	work.Profile = "work"
	mustMaterialise(t, root, work, options())
	kept := map[string]string{}
	for _, name := range []string{"gateway.lock", "gateway_state.json", "hermes-agent/main.py", "notes/mine.md"} {
		mustWrite(t, filepath.Join(root, name), "keep")
		kept[name] = "keep"
	}
	for _, name := range []string{"state.db", "state.db-wal", "cron/jobs.json", "state.db.before-restore-20260102T030000.000Z", ".hermes-restore.lock"} {
		mustWrite(t, filepath.Join(root, name), "x")
	}
	before := tree(t, filepath.Join(root, "profiles"))
	if err := Remove(context.Background(), root, b.Identity()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Join(root, "profiles"))); diff != "" {
		t.Errorf("profiles/ was touched: %s", diff)
	}
	for name, content := range kept {
		if mustRead(t, filepath.Join(root, name)) != content {
			t.Errorf("%s went", name)
		}
	}
	for _, name := range []string{"config.yaml", ".env", "SOUL.md", ".managed", "state.db", "state.db-wal", "cron", "memories", "notes/n.md", recordName, "state.db.before-restore-20260102T030000.000Z", ".hermes-restore.lock"} {
		if exists(filepath.Join(root, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if err := Remove(context.Background(), root, b.Identity()); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestRemove_RefusesUnmanaged(t *testing.T) {
	for _, name := range []string{"default", "alice"} {
		root := t.TempDir()
		paths, _ := ForProfile(root, name)
		mustWrite(t, paths.Soul(), "a person's")
		mustWrite(t, paths.Home+"/x", "x")
		var notManaged *ErrNotManaged
		if err := Remove(context.Background(), root, Identity{Namespace: "n", Profile: name, Gateway: "g"}); !errors.As(err, &notManaged) {
			t.Errorf("%s: %v", name, err)
		}
		if mustRead(t, paths.Soul()) != "a person's" {
			t.Error("removed")
		}
	}
}

func TestRelease_LaterOwner(t *testing.T) {
	root := t.TempDir()
	b := testBundle("")
	b.Documents = nil
	home := mustMaterialise(t, root, b, options()).Paths.Home
	if err := Release(context.Background(), root, b.Identity()); err != nil {
		t.Fatal(err)
	}
	before := stamps(t, root)
	if err := Release(context.Background(), root, b.Identity()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, stamps(t, root)); diff != "" {
		t.Errorf("a second release writes: %s", diff)
	}
	if in, err := Inspect(home); err != nil || in.Ownership != HomeReleased || in.Owner != b.Identity() {
		t.Errorf("%+v %v", in, err)
	}
	stranger := b
	stranger.Namespace = "other"
	var inUse *ErrHomeInUse
	if _, err := Materialise(context.Background(), root, stranger, adopting()); !errors.As(err, &inUse) {
		t.Errorf("another namespace got the history: %v", err)
	}
	again := b
	again.Gateway, again.UID = "renamed", "u-2"
	mustMaterialise(t, root, again, options())
	if in, err := Inspect(home); err != nil || in.Ownership != HomeManaged || in.Owner != again.Identity() || in.Hash != again.Hash() {
		t.Errorf("%+v %v", in, err)
	}
	if _, err := Materialise(context.Background(), root, b, options()); !errors.As(err, &inUse) {
		t.Errorf("the earlier gateway still may write: %v", err)
	}
}

func TestInspect(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  Ownership
	}{
		"nothing":      {nil, HomeAbsent},
		"gateway only": {[]string{"gateway.lock", "profiles/x/SOUL.md", "logs/a"}, HomeAbsent},
		"python agent": {[]string{"config.yaml", ".env", "SOUL.md", "state.db"}, HomeUnmanaged},
		"store only":   {[]string{"state.db"}, HomeUnmanaged},
	} {
		root := t.TempDir()
		for _, f := range tc.files {
			mustWrite(t, filepath.Join(root, f), "x")
		}
		if in, err := Inspect(root); err != nil || in.Ownership != tc.want {
			t.Errorf("%s: %+v %v", name, in, err)
		}
	}
	root := t.TempDir()
	mustWrite(t, filepath.Join(root, recordName), "{broken")
	if _, err := Inspect(root); err == nil {
		t.Error("a broken record looks like none")
	}
	b := testBundle("")
	b.Profile = "default"
	if _, err := Materialise(context.Background(), root, b, adopting()); err == nil {
		t.Error("written over a broken record")
	}
	if in, err := Inspect(filepath.Join(root, "none")); err != nil || in.Ownership != HomeAbsent {
		t.Errorf("%+v %v", in, err)
	}
}

// decideFile is total: each kind on disk and each recorded state has one answer, and no answer writes over content
// that is not ours without a backup.
func TestDecideFile(t *testing.T) {
	target, other, intent := "target", "other", "intent"
	disks := map[string]diskFile{"absent": {}, "target": {kind: diskRegular, sha: target}, "other": {kind: diskRegular, sha: other},
		"intent": {kind: diskRegular, sha: intent}, "link": {kind: diskLink, sha: "link:" + target}, "dir": {kind: diskDir}, "blocked": {kind: diskBlocked}}
	want := map[string]string{ // record/disk, then do:after without and with adopting
		"none/absent": "write:owned write:owned", "none/target": "keep:found keep:found", "none/other": "conflict: backup and write:owned", "none/intent": "conflict: backup and write:owned", "none/link": "conflict: backup and write:owned",
		"intended/absent": "write:owned write:owned", "intended/target": "keep:found keep:found", "intended/other": "conflict: backup and write:owned", "intended/intent": "write:owned write:owned", "intended/link": "conflict: backup and write:owned",
		"owned/absent": "write:owned write:owned", "owned/target": "keep:owned keep:owned", "owned/other": "write:owned write:owned", "owned/intent": "write:owned write:owned", "owned/link": "write:owned write:owned",
		"found/absent": "write:owned write:owned", "found/target": "keep:found keep:found", "found/other": "backup and write:found backup and write:found", "found/intent": "backup and write:found backup and write:found", "found/link": "backup and write:found backup and write:found",
	}
	for _, state := range []string{"none", stateIntended, stateOwned, stateFound} {
		for name, disk := range disks {
			var got string
			for _, adopt := range []bool{false, true} {
				do, _, after := decideFile(recordFile{SHA: intent, State: state}, state != "none", disk, target, adopt)
				if got != "" {
					got += " "
				}
				got += string(do) + ":" + after
			}
			expect, ok := want[state+"/"+name]
			if !ok {
				expect = "conflict: conflict:"
			}
			if got != expect {
				t.Errorf("%s/%s: %q, want %q", state, name, got, expect)
			}
		}
	}
	// The pass after a crash: the intended content is there, so the file is ours.
	if do, _, after := decideFile(recordFile{SHA: target, State: stateIntended}, true, disks["target"], target, false); do != keepFile || after != stateOwned {
		t.Errorf("written and then killed: %s %s", do, after)
	}
}

// A removal that fails half-way can be repeated, because the record goes last.
func TestRemove_Repeatable(t *testing.T) {
	root := t.TempDir()
	b := testBundle("")
	b.Documents = nil
	home := mustMaterialise(t, root, b, options()).Paths.Home
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Remove(ctx, root, b.Identity()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.RemoveAll(home + "/memories"); err != nil { // as if it had come this far
		t.Fatal(err)
	}
	if err := Remove(context.Background(), root, b.Identity()); err != nil || exists(home) {
		t.Errorf("%v", err)
	}
}
