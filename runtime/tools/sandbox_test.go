package tools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLocateAndWithin(t *testing.T) {
	b := sandbox{roots: []string{"/w", "/w/sub", "/data"}, home: "/h", commandHome: "/h/home"}
	tests := []struct{ path, root, rel, err string }{
		{"a/b", "/w", "a/b", ""},
		{".", "/w", ".", ""},
		{"/w", "/w", ".", ""},
		{"a/../b", "/w", "b", ""},
		{"sub/x", "/w/sub", "x", ""},
		{"/data//x/", "/data", "x", ""},
		{"../data/x", "/data", "x", ""},
		{"", "", "", "the path is empty"},
		{"a\x00b", "", "", "NUL"},
		{"..", "", "", "outside"},
		{"../../../etc/passwd", "", "", "outside"},
		{"/etc/passwd", "", "", "outside"},
		{"/wx", "", "", "outside"},
		{"/dat", "", "", "outside"},
		{"~", "", "", "outside"},
		{"~/x", "", "", "outside"},
		{"~x", "/w", "~x", ""},
	}
	for _, tt := range tests {
		abs, err := b.locate(tt.path)
		var p place
		if err == nil {
			p, err = b.within(abs)
		}
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want %q", tt.path, err, tt.err)
			}
			continue
		}
		if err != nil || p != (place{tt.root, tt.rel}) {
			t.Errorf("%q = %v, %v, want %s %s", tt.path, p, err, tt.root, tt.rel)
		}
	}
	b.roots = append(b.roots, "/h/home")
	if abs, _ := b.locate("~/x"); abs != "/h/home/x" {
		t.Errorf("~/x = %s", abs)
	}
}

func TestProtection(t *testing.T) {
	b := sandbox{roots: []string{"/"}, home: "/h"}
	for path, want := range map[string]string{ // refused for: "" nothing, "w" writing, "rw" both
		"/h/.env": "rw", "/h/.ENV": "rw", "/h/.env.local": "rw", "/h/auth.json": "rw", "/h/auth.json.lock": "rw", "/h/.managed": "rw",
		"/h/state.db": "rw", "/h/state.db-wal": "rw", "/h/State.DB-shm": "rw", "/h/gateway.sock": "rw", "/h/gateway.sock.path": "rw", "/h/gateway.lock": "rw", "/h/host-gateway.token": "rw",
		"/h/cron/.tick.lock": "rw", "/h/mcp-tokens/x.json": "rw", "/h/profiles/bob/SOUL.md": "rw", "/h/backups/x": "rw", "/h/state-snapshots/1/x": "rw",
		"/elsewhere/state.db": "rw", "/h/workspace/state.db-journal": "rw",
		"/h/config.yaml": "w", "/h/hooks/x/handler.py": "w", "/h/plugins/x/p": "w",
		"/h/SOUL.md": "", "/h/memories/x.md": "", "/h/workspace/.env": "", "/h/workspace/config.yaml": "", "/h/workspace/yarn.lock": "", "/h/skills/x/SKILL.md": "", "/other/.env": "", "/h/cron/jobs.json": "", "/h": "",
	} {
		abs, _ := b.locate(path)
		p, err := b.within(abs)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if b.protection(p, reading) != "" {
			got += "r"
		}
		if b.protection(p, writing) != "" {
			got += "w"
		}
		if got != want {
			t.Errorf("%s is refused for %q, want %q", path, got, want)
		}
	}
}

// escapeSet has a workspace, one more root, and things outside to reach.
func escapeSet(t testing.TB) (s *Set, workspace, extra, outside string) {
	outside = filepath.Join(t.TempDir(), "outside")
	extra = t.TempDir()
	writeTree(t, outside, map[string]string{"secret": "do not read"})
	s = newTestSet(t, func(c *Config) {
		c.Roots = []string{extra, c.Home}
		writeTree(t, c.Home, map[string]string{".env": "KEY=hunter2", "state.db": "SQLite format 3", "SOUL.md": "soul"})
	})
	workspace = s.sandbox.roots[0]
	extra = s.sandbox.roots[1]
	writeTree(t, workspace, map[string]string{"dir/file": "inside"})
	writeTree(t, extra, map[string]string{"file": "extra"})
	return s, workspace, extra, outside
}

func TestSymlinksDoNotEscape(t *testing.T) {
	s, w, extra, outside := escapeSet(t)
	home := s.sandbox.home
	symlink(t, outside, filepath.Join(w, "abs"))
	rel, err := filepath.Rel(w, outside)
	if err != nil {
		t.Fatal(err)
	}
	symlink(t, rel, filepath.Join(w, "rel"))
	symlink(t, filepath.Join(outside, "secret"), filepath.Join(w, "leaf"))
	symlink(t, "abs", filepath.Join(w, "twice"))
	symlink(t, "loop", filepath.Join(w, "loop"))
	symlink(t, filepath.Join(outside, "new"), filepath.Join(w, "dangling"))
	symlink(t, filepath.Join(home, ".env"), filepath.Join(w, "env"))
	symlink(t, filepath.Join(home, "state.db"), filepath.Join(w, "db"))
	symlink(t, home, filepath.Join(w, "house"))
	for path, want := range map[string]string{
		"abs/secret": "outside", "rel/secret": "outside", "leaf": "outside", "twice/secret": "outside", "loop": "too many symbolic links", "dangling": "outside",
		"dir/../../../outside": "outside", "env": "secrets", "db": "own store", "house/.env": "secrets", "house/home/../.env": "secrets",
		filepath.Join(home, ".env"): "secrets",
	} {
		refused(t, s, "read_file", map[string]any{"path": path}, want)
		refused(t, s, "write_file", map[string]any{"path": path, "content": "owned"}, want)
	}
	refused(t, s, "list_dir", map[string]any{"path": "abs"}, "outside")
	if got := readBack(t, filepath.Join(outside, "secret")); got != "do not read" {
		t.Errorf("outside changed to %q", got)
	}
	if _, err := os.Lstat(filepath.Join(outside, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a dangling link was written through: %v", err)
	}
	// Links that stay inside, also between roots, work.
	symlink(t, "dir", filepath.Join(w, "alias"))
	symlink(t, extra, filepath.Join(w, "extra"))
	for path, want := range map[string]string{"alias/file": "inside", "extra/file": "extra", "house/SOUL.md": "soul"} {
		if got := must(t, s, "read_file", map[string]any{"path": path}); got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	must(t, s, "write_file", map[string]any{"path": "alias/file", "content": "changed"})
	if got := readBack(t, filepath.Join(w, "dir/file")); got != "changed" {
		t.Errorf("through the link = %q", got)
	}
}

func TestHardLinkToASecretIsRefused(t *testing.T) {
	s, w, _, _ := escapeSet(t)
	for _, name := range []string{".env", "state.db"} {
		if err := os.Link(filepath.Join(s.sandbox.home, name), filepath.Join(w, "innocent")); err != nil {
			t.Fatal(err)
		}
		refused(t, s, "read_file", map[string]any{"path": "innocent"}, "another name of a secret file")
		// Replacing the link is harmless: the secret keeps its content.
		must(t, s, "write_file", map[string]any{"path": "innocent", "content": "x"})
		if got := readBack(t, filepath.Join(s.sandbox.home, name)); got == "x" {
			t.Errorf("%s was written through a hard link", name)
		}
		if err := os.Remove(filepath.Join(w, "innocent")); err != nil {
			t.Fatal(err)
		}
	}
}

// A secret that is moved into place between the look and the open is not
// read, and its descriptor stays open (S-133).
func TestSwappedSecretIsRetired(t *testing.T) {
	s, w, _, _ := escapeSet(t)
	if err := os.Link(filepath.Join(s.sandbox.home, "state.db"), filepath.Join(w, "late")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(w, "late"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.checkRegular("late", info); err == nil {
		t.Fatal("the descriptor's file is not recognised")
	}
	s.retire(f)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("the retired descriptor was closed: %v", err)
	}
}

func TestOpenedElsewhereIsRefused(t *testing.T) {
	s, _, _, outside := escapeSet(t)
	for path, want := range map[string]string{filepath.Join(outside, "secret"): "outside", filepath.Join(s.sandbox.home, ".env"): "secrets"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.sandbox.checkOpened("x", f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		f.Close()
	}
}

func TestOddFilesAreRefusedUnopened(t *testing.T) {
	s, w, _, _ := escapeSet(t)
	if err := unix.Mkfifo(filepath.Join(w, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, s, "read_file", map[string]any{"path": "fifo"}, "not a regular file")
	refused(t, s, "write_file", map[string]any{"path": "fifo", "content": ""}, "not a regular file")
	refused(t, s, "list_dir", map[string]any{"path": "fifo"}, "not a directory")
	refused(t, s, "read_file", map[string]any{"path": "dir"}, "use list_dir")
	refused(t, s, "write_file", map[string]any{"path": "dir", "content": ""}, "is a directory")
	refused(t, s, "write_file", map[string]any{"path": ".", "content": ""}, "is a directory")
	refused(t, s, "write_file", map[string]any{"path": "dir/file/x", "content": ""}, "not a directory")
}

// FuzzSandbox: whatever the path, nothing outside is read or changed and no
// secret is read.
func FuzzSandbox(f *testing.F) {
	s, w, _, outside := escapeSet(f)
	home := s.sandbox.home
	symlink(f, outside, filepath.Join(w, "out"))
	symlink(f, home, filepath.Join(w, "house"))
	symlink(f, "..", filepath.Join(w, "up"))
	for _, seed := range []string{"dir/file", "../../outside/secret", "out/secret", "house/.env", "up/.env", "up/up/x", "./././dir/../dir/file", home + "/state.db", "~/../.env", "dir\x00", "a/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r := s.Run(t.Context(), "s", call("read_file", map[string]any{"path": path}), nil)
		if strings.Contains(r.Content, "do not read") || strings.Contains(r.Content, "hunter2") || strings.Contains(r.Content, "SQLite format") {
			t.Fatalf("read_file %q = %q", path, r.Content)
		}
		if p, err := s.sandbox.admit(path, writing); err == nil {
			if _, err := s.sandbox.within(p.abs()); err != nil || p.rel == ".." || strings.HasPrefix(p.rel, "../") || filepath.IsAbs(p.rel) {
				t.Fatalf("%q resolves to %+v", path, p)
			}
		}
	})
}
