package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// estate is a data directory with a control plane and two agents, and the tools of the second one.
func estate(t *testing.T, workspace string) (s *Set, data, home string) {
	t.Helper()
	data = t.TempDir()
	root := filepath.Join(data, "gateways", "default", "gw")
	home = filepath.Join(root, "profiles", "b")
	for _, dir := range []string{root, filepath.Join(root, "profiles", "a"), home} {
		writeTree(t, dir, map[string]string{".env": "KEY=hunter2", "state.db": "SQLite", "state.db-shm": "shm", "SOUL.md": "soul", "workspace/notes": "notes"})
	}
	writeTree(t, data, map[string]string{"controlplane/kubeconfig": "hunter2", "controlplane/db/state": "hunter2", "project/readme": "fine"})
	s = newTestSet(t, func(c *Config) {
		c.Home, c.Workspace, c.Guarded = home, filepath.Join(data, workspace), []string{root, data}
	})
	return s, s.sandbox.guarded[1], home
}

// A hard link in the workspace opens nothing of another agent or of the control plane, and is not even opened (S-133).
func TestHardLinksIntoOtherHomes_S133(t *testing.T) {
	s, data, home := estate(t, "gateways/default/gw/profiles/b/workspace")
	gw := filepath.Join(data, "gateways", "default", "gw")
	for _, target := range []string{
		filepath.Join(gw, "profiles/a/state.db-shm"), filepath.Join(gw, "profiles/a/state.db"), filepath.Join(gw, "profiles/a/.env"), filepath.Join(gw, ".env"),
		filepath.Join(data, "controlplane/kubeconfig"), filepath.Join(data, "controlplane/db/state"),
	} {
		link := filepath.Join(home, "workspace", "x")
		if err := os.Link(target, link); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "read_file", map[string]any{"path": "x"}, "another name of a secret file")
		if got := must(t, s, "search_files", map[string]any{"pattern": "hunter2|shm|SQLite"}); !strings.Contains(got, "nothing matches") {
			t.Errorf("%s is searched: %s", target, got)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(home, "workspace", "notes"), filepath.Join(home, "workspace", "copy")); err != nil {
		t.Fatal(err)
	}
	if got := must(t, s, "read_file", map[string]any{"path": "copy"}); got != "notes" {
		t.Errorf("a hard link within the workspace = %q", got)
	}
}

// A workspace that holds the homes of agents, or lies in one, opens none of them.
func TestWorkspaceAroundHomes(t *testing.T) {
	for _, workspace := range []string{".", "gateways", "gateways/default/gw/profiles", "gateways/default/gw/profiles/a", "controlplane"} {
		t.Run(workspace, func(t *testing.T) {
			s, data, home := estate(t, workspace)
			for _, path := range []string{"gateways/default/gw/profiles/a/SOUL.md", "gateways/default/gw/.env", "controlplane/kubeconfig", "gateways/default/gw/profiles/b/.env"} {
				for tool, args := range map[string]map[string]any{"read_file": {}, "write_file": {"content": "x"}} {
					args["path"] = filepath.Join(data, path)
					if r := s.Run(t.Context(), "s1", call(tool, args), nil); !r.IsError {
						t.Errorf("%s %s = %s", tool, path, r.Content)
					}
				}
			}
			if r := s.Run(t.Context(), "s1", call("search_files", map[string]any{"pattern": "hunter2|soul"}), nil); strings.Contains(r.Content, ":1:") {
				t.Errorf("found %s", r.Content)
			}
			if _, inside := below(s.sandbox.roots[0], home); inside {
				if got := must(t, s, "read_file", map[string]any{"path": filepath.Join(home, "SOUL.md")}); got != "soul" {
					t.Errorf("the own home = %q", got)
				}
			}
		})
	}
	// A kubeconfig may lie beside what a person works on: it alone is guarded.
	dir := t.TempDir()
	writeTree(t, dir, map[string]string{"kubeconfig": "hunter2", "readme": "fine"})
	k := newTestSet(t, func(c *Config) { c.Workspace, c.Guarded = dir, []string{filepath.Join(dir, "kubeconfig")} })
	refused(t, k, "read_file", map[string]any{"path": "kubeconfig"}, "belongs to another agent or to the control plane")
	if err := os.Link(filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	refused(t, k, "read_file", map[string]any{"path": "x"}, "another name of a secret file")
	if got := must(t, k, "read_file", map[string]any{"path": "readme"}); got != "fine" {
		t.Errorf("beside a kubeconfig = %q", got)
	}
	s, _, _ := estate(t, "project")
	if got := must(t, s, "read_file", map[string]any{"path": "readme"}); got != "fine" {
		t.Errorf("a plain directory beside the homes = %q", got)
	}
}

// A file's name cannot fake a line of a result.
func TestSearchShowsNamesOnOneLine(t *testing.T) {
	s := newTestSet(t, nil)
	writeTree(t, s.sandbox.roots[0], map[string]string{"a\nsafe.txt:1:all good": "needle", "b\x1b[2K\u202etxt": "needle"})
	for _, args := range []map[string]any{{"pattern": "needle"}, {"glob": "*"}} {
		got := must(t, s, "search_files", args)
		if strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "a⏎safe.txt") {
			t.Errorf("%v = %q", args, got)
		}
	}
}
