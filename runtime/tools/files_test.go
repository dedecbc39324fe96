package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	s := newTestSet(t, func(c *Config) { c.OutputLimit = 100 })
	w := s.sandbox.roots[0]
	var lines strings.Builder
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&lines, "line %02d\n", i)
	}
	writeTree(t, w, map[string]string{
		"short": "a\nb\nc\n", "open": "a\nb", "empty": "", "long": lines.String(), "wide": strings.Repeat("é", 200000) + "\nnext\n",
		"nul": "ab\x00cd", "latin": strings.Repeat("\xe9\xe8", 50), "mostly": "caf\xe9 is fine\n",
	})
	tests := []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"path": "short"}, "a\nb\nc\n"},
		{map[string]any{"path": "open"}, "a\nb"},
		{map[string]any{"path": "empty"}, "[the file is empty]"},
		{map[string]any{"path": "short", "offset": 2, "limit": 1}, "b\n\n[lines 2 to 2; continue with offset=3]"},
		{map[string]any{"path": "short", "offset": 3}, "c\n\n[lines 3 to 3, the end of the file]"},
		{map[string]any{"path": "short", "offset": 9}, "[no line 9: the file has 3 lines]"},
		{map[string]any{"path": "mostly"}, "caf\uFFFD is fine\n"},
		{map[string]any{"path": "wide"}, strings.Repeat("é", 50) + "\n[line 1 is longer than the output limit and was cut]\n\n[lines 1 to 1; continue with offset=2]"},
	}
	for _, tt := range tests {
		if got := must(t, s, "read_file", tt.args); got != tt.want {
			t.Errorf("%v = %q, want %q", tt.args, got, tt.want)
		}
	}
	// Reading on from each trailer gives every line once.
	got, offset := "", 1
	for range 10 {
		part := must(t, s, "read_file", map[string]any{"path": "long", "offset": offset})
		text, trailer, _ := strings.Cut(part, "\n[lines")
		got += text
		if _, err := fmt.Sscanf(trailer[strings.Index(trailer, ";")+1:], " continue with offset=%d]", &offset); err != nil {
			break
		}
	}
	if got != lines.String() {
		t.Errorf("read in parts = %q", got)
	}
	refused(t, s, "read_file", map[string]any{"path": "nul"}, "binary file of 5 bytes")
	refused(t, s, "read_file", map[string]any{"path": "latin"}, "binary file")
	refused(t, s, "read_file", map[string]any{"path": "none"}, "none: no such file")
	if err := os.Truncate(filepath.Join(w, "short"), maxReadBytes+1); err != nil {
		t.Fatal(err)
	}
	refused(t, s, "read_file", map[string]any{"path": "short"}, "use terminal")
}

func TestReadFileStopsWhenCancelled(t *testing.T) {
	s := newTestSet(t, nil)
	writeTree(t, s.sandbox.roots[0], map[string]string{"f": "x\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.Run(ctx, "s", call("read_file", map[string]any{"path": "f"}), nil); !r.IsError {
		t.Errorf("result = %+v", r)
	}
}

func TestWriteFile(t *testing.T) {
	s := newTestSet(t, nil)
	w := s.sandbox.roots[0]
	if got := must(t, s, "write_file", map[string]any{"path": "a/b/new", "content": "one"}); got != "created a/b/new, 3 bytes" {
		t.Errorf("result = %q", got)
	}
	path := filepath.Join(w, "a/b/new")
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := must(t, s, "write_file", map[string]any{"path": "a/b/new", "content": ""}); got != "replaced a/b/new, 0 bytes" {
		t.Errorf("result = %q", got)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() {
		t.Errorf("mode became %v, want %v", after.Mode(), before.Mode())
	}
	if os.SameFile(before, after) {
		t.Error("the file was changed in place and not replaced")
	}
	refused(t, s, "write_file", map[string]any{"path": "big", "content": strings.Repeat("x", maxWriteBytes+1)}, "more than the")
	entries, err := os.ReadDir(filepath.Join(w, "a/b"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A reader sees the old content or the new one, never a part.
func TestWriteFileIsAtomic(t *testing.T) {
	s := newTestSet(t, nil)
	path := filepath.Join(s.sandbox.roots[0], "f")
	contents := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	must(t, s, "write_file", map[string]any{"path": "f", "content": contents[0]})
	stop := make(chan struct{})
	done := make(chan string)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			raw, err := os.ReadFile(path)
			if err != nil || (string(raw) != contents[0] && string(raw) != contents[1]) {
				done <- fmt.Sprintf("read %d bytes, %v", len(raw), err)
				return
			}
		}
	}()
	for i := range 30 {
		must(t, s, "write_file", map[string]any{"path": "f", "content": contents[i%2]})
	}
	close(stop)
	for torn := range done {
		t.Error(torn)
	}
}

func TestListDir(t *testing.T) {
	s := newTestSet(t, nil)
	w := s.sandbox.roots[0]
	if got := must(t, s, "list_dir", nil); got != "[the directory is empty]" {
		t.Errorf("empty = %q", got)
	}
	writeTree(t, w, map[string]string{"b.txt": "12345", "a/x": "", "c\nd": ""})
	symlink(t, "b.txt", filepath.Join(w, "l"))
	if got, want := must(t, s, "list_dir", map[string]any{"path": "."}), "a/\nb.txt  5\nc⏎d  0\nl -> b.txt\n"; got != want {
		t.Errorf("listing = %q, want %q", got, want)
	}
	for i := range maxListed + 7 {
		writeTree(t, w, map[string]string{fmt.Sprintf("many/%04d", i): ""})
	}
	got := must(t, s, "list_dir", map[string]any{"path": "many"})
	if lines := strings.Count(got, "\n"); lines != maxListed+1 || !strings.Contains(got, "[500 of 507 entries shown") {
		t.Errorf("%d lines, ends with %q", lines, got[len(got)-80:])
	}
	refused(t, s, "list_dir", map[string]any{"path": "b.txt"}, "not a directory")
	refused(t, s, "list_dir", map[string]any{"path": "none"}, "no such file")
}
