package regular

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOnlyRegularFiles: everything else is refused at once; a pipe without a writer would keep a plain open waiting for
// ever, and with it this test.
func TestOnlyRegularFiles(t *testing.T) {
	t.Chdir(t.TempDir()) // the names of sockets are short
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, err := range []error{
		syscall.Mkfifo("pipe", 0o600), os.Mkdir("directory", 0o700), os.WriteFile("file", []byte("text"), 0o600),
		os.Symlink("file", "link"), os.Symlink("pipe", "link to a pipe"), os.Symlink("nothing", "dangling"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]error{
		"file": nil, "link": nil, "pipe": ErrNotRegular, "link to a pipe": ErrNotRegular, "directory": ErrNotRegular,
		"socket": ErrNotRegular, "dangling": fs.ErrNotExist, "nothing": fs.ErrNotExist, "/dev/null": ErrNotRegular,
	} {
		check(t, name, want, func() (*os.File, error) { return Open(name) })
		if !filepath.IsAbs(name) {
			check(t, "in a root: "+name, want, func() (*os.File, error) { return OpenIn(root, name) })
		}
		if errors.Is(want, fs.ErrNotExist) {
			want = nil
		}
		if err := Check(name); !errors.Is(err, want) {
			t.Errorf("check %s: %v", name, err)
		}
	}
	if _, err := OpenIn(root, "../x"); err == nil {
		t.Error("it leads out of the root")
	}
}

func check(t *testing.T, name string, want error, open func() (*os.File, error)) {
	t.Helper()
	file, err := open()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v", name, err)
	}
	if err != nil {
		return
	}
	defer file.Close()
	if text, err := io.ReadAll(file); err != nil || string(text) != "text" {
		t.Errorf("%s: %q %v", name, text, err)
	}
}

// TestBecomesAPipe between the look and the opening: it is not waited for either.
func TestBecomesAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := func(string) (fs.FileInfo, error) { return os.Stat(file) }
	if _, err := open(path, before, os.OpenFile); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

// TestReadFileIsBounded.
func TestReadFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := ReadFile(path, 4); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}
