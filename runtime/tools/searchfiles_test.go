package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestSearchFiles(t *testing.T) {
	s, w, extra, outside := escapeSet(t)
	writeTree(t, w, map[string]string{
		"main.go": "package main\n\nfunc main() { Run() }\n", "sub/run.go": "package sub\nfunc Run() {}\n", "sub/run_test.go": "package sub\nfunc TestRun() {}\n",
		"doc.md": "Run it\n", "bin.dat": "Run\x00", ".git/config": "Run\n", "state.db": "Run\n", "crlf.txt": "Run\r\n",
		".gitignore": "/out/\n*.log\n!keep.log\n", "out/x.go": "Run\n", "deep/out/x.go": "Run deep\n", "a.log": "Run\n", "keep.log": "Run kept\n",
		"deep/.gitignore": "!b.log\nsecret*\n", "deep/b.log": "Run again\n", "deep/secret.txt": "Run\n", "secret.txt": "Run here\n",
	})
	writeTree(t, extra, map[string]string{"e.txt": "Run extra\n"})
	symlink(t, outside, filepath.Join(w, "linkdir"))
	symlink(t, filepath.Join(outside, "secret"), filepath.Join(w, "link"))
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"pattern and glob", map[string]any{"pattern": `func \w*Run`, "glob": "*.go"}, "sub/run.go:2:func Run() {}\nsub/run_test.go:2:func TestRun() {}\n"},
		{"below a directory", map[string]any{"pattern": "^func Run", "path": "sub"}, "sub/run.go:2:func Run() {}\n"},
		{"one file", map[string]any{"pattern": "Run", "path": "main.go"}, "main.go:3:func main() { Run() }\n"},
		{"names", map[string]any{"glob": "*_test.go"}, "sub/run_test.go\n"},
		{"glob with a directory", map[string]any{"glob": "sub/**"}, "sub/run.go\nsub/run_test.go\n"},
		{"ignored, hidden, binary, store, links", map[string]any{"pattern": "Run|do not read"}, "crlf.txt:1:Run\ndeep/b.log:1:Run again\ndeep/out/x.go:1:Run deep\ndoc.md:1:Run it\nkeep.log:1:Run kept\nmain.go:3:func main() { Run() }\nsecret.txt:1:Run here\nsub/run.go:2:func Run() {}\nsub/run_test.go:2:func TestRun() {}\n"},
		{"rules above the start", map[string]any{"pattern": "Run", "path": "deep", "glob": "*.{txt,log}"}, "deep/b.log:1:Run again\n"},
		{"ignored when named", map[string]any{"pattern": "Run", "path": "out"}, "out/x.go:1:Run\n"},
		{"case", map[string]any{"pattern": "RUN IT", "ignore_case": true}, "doc.md:1:Run it\n"},
		{"another root", map[string]any{"pattern": "Run", "path": extra}, extra + "/e.txt:1:Run extra\n"},
		{"nothing", map[string]any{"pattern": "no such text at all"}, "[nothing matches]\n"},
		{"bounded", map[string]any{"pattern": "Run", "glob": "*.go", "max_matches": 2}, "deep/out/x.go:1:Run deep\nmain.go:3:func main() { Run() }\n[there are more than 2 results; narrow the search or raise max_matches]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := must(t, s, "search_files", tt.args); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{}, "name a pattern, a glob, or both"},
		{map[string]any{"pattern": "(?=x)"}, "no RE2"},
		{map[string]any{"glob": "[a"}, "malformed"},
		{map[string]any{"pattern": "x", "path": "/etc"}, "outside"},
		{map[string]any{"pattern": "x", "path": "linkdir"}, "outside"},
		{map[string]any{"pattern": "hunter2", "path": s.sandbox.home + "/.env"}, "secrets"},
		{map[string]any{"pattern": "x", "path": "none"}, "no such file"},
	} {
		refused(t, s, "search_files", tt.args, tt.want)
	}
	if got := must(t, s, "search_files", map[string]any{"pattern": "hunter2|SQLite", "path": s.sandbox.home}); got != "[nothing matches]\n" {
		t.Errorf("secrets of the home are found: %s", got)
	}
}

func TestSearchEndsInTime(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newTestSet(t, func(c *Config) { c.Clock = clk })
	writeTree(t, s.sandbox.roots[0], map[string]string{"a": "x", "b": "x"})
	q := search{set: s, args: searchFilesArgs{Pattern: "x", Path: "."}}
	if err := q.prepare(); err != nil {
		t.Fatal(err)
	}
	expired := make(chan time.Time)
	close(expired)
	q.expired = expired
	if err := q.walk(t.Context(), place{s.sandbox.roots[0], "."}); err != nil || !strings.Contains(q.render(), "stopped after 20s") {
		t.Errorf("%v, %q", err, q.render())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	q.expired = nil
	if err := q.walk(ctx, place{s.sandbox.roots[0], "."}); err != context.Canceled {
		t.Errorf("a stopped search = %v", err)
	}
}

func TestSearchOutputIsBounded(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.OutputLimit = 2048 })
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("f%03d", i)] = strings.Repeat("needle ", 200)
	}
	writeTree(t, s.sandbox.roots[0], files)
	got := must(t, s, "search_files", map[string]any{"pattern": "needle"})
	if len(got) > 2048+300 || !strings.Contains(got, "complete output: "+s.config.SpillDir) {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func modeOf(t testing.TB, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func isLink(t testing.TB, path string) bool {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()&os.ModeSymlink != 0
}
