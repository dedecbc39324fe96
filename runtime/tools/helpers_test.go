package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newTestSet builds a Set over temporary directories; change edits the
// configuration first. It is closed, and must close in time, with the test.
func newTestSet(t testing.TB, change func(*Config)) *Set {
	t.Helper()
	dir := t.TempDir()
	c := Config{Workspace: filepath.Join(dir, "home", "workspace"), Home: filepath.Join(dir, "home"), Mode: ModeAllow, RunID: "run-1"}
	if err := os.MkdirAll(c.Workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	s, err := NewSet(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func call(tool string, args map[string]any) Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return Call{ID: "c1", Name: tool, Arguments: raw}
}

// must runs a call that has to succeed and returns its content.
func must(t testing.TB, s *Set, tool string, args map[string]any) string {
	t.Helper()
	r := s.Run(t.Context(), "s1", call(tool, args), nil)
	if r.IsError {
		t.Fatalf("%s %v: %s", tool, args, r.Content)
	}
	return r.Content
}

// refused runs a call that has to fail with a `{"error":…}` containing want.
func refused(t testing.TB, s *Set, tool string, args map[string]any, want string) {
	t.Helper()
	r := s.Run(t.Context(), "s1", call(tool, args), nil)
	var body struct{ Error string }
	if !r.IsError || json.Unmarshal([]byte(r.Content), &body) != nil || !strings.Contains(body.Error, want) {
		t.Errorf("%s %v = %+v, want an error containing %q", tool, args, r, want)
	}
}

func writeTree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readBack(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func symlink(t testing.TB, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

func sh(command string) map[string]any { return map[string]any{"command": command} }
