package homeimport

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNotRegularFiles: a pipe, a socket or a directory in place of a file is noted and not waited for.
func TestNotRegularFiles(t *testing.T) {
	for kind, place := range map[string]func(string) error{
		"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.MkdirAll(path, 0o700) },
		"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
	} {
		t.Run(kind, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "h") // a socket's path is short
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			for _, sub := range []string{"cron", "memories", "skills"} {
				must(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
			}
			must(t, os.WriteFile(filepath.Join(dir, "state.db"), nil, 0o600))
			must(t, os.WriteFile(filepath.Join(dir, "memories", "good.md"), []byte("good"), 0o600))
			names := []string{"SOUL.md", "config.yaml", ".env", "cron/jobs.json", "memories/m", "skills/s"}
			for _, name := range names {
				must(t, place(filepath.Join(dir, name)))
			}
			h := readInTime(t, dir)
			for _, name := range names {
				if kind == "directory" && strings.Contains(name, "/") && !strings.HasPrefix(name, "cron") {
					continue // an empty directory of memories
				}
				if !slices.ContainsFunc(h.Notes, func(n string) bool { return strings.HasPrefix(n, name+" was not") }) {
					t.Errorf("nothing is said of %s in %q", name, h.Notes)
				}
			}
			if !slices.Equal(h.Files, []string{"memories/good.md"}) {
				t.Errorf("files %q", h.Files)
			}
			h.Files = append(h.Files, "memories/m") // became something else after it was listed
			if kind != "directory" {
				if n, err := CopyFiles(h, t.TempDir()); err == nil || !strings.Contains(err.Error(), "copy memories/m") || n != 1 {
					t.Errorf("copied %d: %v", n, err)
				}
			}
		})
	}
}

func readInTime(t *testing.T, dir string) Home {
	t.Helper()
	type result struct {
		home Home
		err  error
	}
	done := make(chan result, 1)
	go func() { h, err := Read(dir); done <- result{h, err} }()
	select {
	case r := <-done:
		must(t, r.err)
		return r.home
	case <-time.After(20 * time.Second):
		t.Fatal("it waits")
		return Home{}
	}
}

// TestHugeFiles are bounded: text that is read, and files that are copied. The files are sparse.
func TestHugeFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "skills"), 0o700))
	for name, size := range map[string]int64{"SOUL.md": maxText + 1, "skills/model.bin": maxFile + 1, "skills/fits": 1} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		must(t, os.Truncate(filepath.Join(dir, name), size))
	}
	h, err := Read(dir)
	must(t, err)
	if h.Soul != "" || !slices.Equal(h.Files, []string{"skills/fits"}) {
		t.Errorf("soul of %d bytes, files %q", len(h.Soul), h.Files)
	}
	if notes := fmt.Sprint(h.Notes); !strings.Contains(notes, "SOUL.md was not read") || !strings.Contains(notes, "skills/model.bin was not taken over: it is larger") {
		t.Error(notes)
	}
	h.Files = []string{"skills/model.bin"} // grew after it was listed
	to := t.TempDir()
	if n, err := CopyFiles(h, to); err == nil || !strings.Contains(err.Error(), "larger than") || n != 0 {
		t.Errorf("copied %d: %v", n, err)
	}
	if left, err := os.ReadDir(filepath.Join(to, "skills")); err != nil || len(left) != 0 {
		t.Errorf("left %v %v", left, err)
	}
}
