package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/internal/regular"
)

// shapeVerbs are the ways into a file that somebody else may have made.
var shapeVerbs = map[string]func(path string) error{
	"open": func(path string) error {
		s, err := Open(context.Background(), path, Options{Log: logr.Discard()})
		if err == nil {
			err = s.Close()
		}
		return err
	},
	"open read-only": func(path string) error {
		s, err := Open(context.Background(), path, Options{Log: logr.Discard(), ReadOnly: true})
		if err == nil {
			err = s.Close()
		}
		return err
	},
	"check": func(path string) error { _, err := Check(context.Background(), path); return err },
	"survey": func(path string) error {
		_, err := SurveyImport(context.Background(), path, ImportOptions{Profile: "p"})
		return err
	},
	"copy": func(path string) error {
		_, err := CopyForeign(context.Background(), path, path+".copy")
		return err
	},
}

// TestNeitherEmptyNorADatabase: what is too short to be a database is damaged, and not a new store. SQLite takes one byte
// for none.
func TestNeitherEmptyNorADatabase(t *testing.T) {
	for verb, do := range shapeVerbs {
		for _, size := range []int{1, 2, 15, 16, 49, 50, 99, 100, 511, 512, 4096} {
			t.Run(fmt.Sprintf("%s %d bytes", verb, size), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "state.db")
				text := strings.Repeat("x", size)
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := do(path); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "state.db") {
					t.Errorf("%v", err)
				}
				if now, err := os.ReadFile(path); err != nil || string(now) != text {
					t.Errorf("it was changed to %q (%v)", now, err)
				}
			})
		}
	}
	empty := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shapeVerbs["open"](empty); err != nil {
		t.Errorf("an empty file is a new store: %v", err)
	}
}

// TestCutOffWriteIsNoDamage: a short file with a log beside it is SQLite's to judge.
func TestCutOffWriteIsNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	for name, text := range map[string]string{path: "x", path + "-wal": "log"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkShape(path); err != nil {
		t.Error(err)
	}
}

// TestNoRegularFile: a pipe, a directory or a device is refused at once, and not waited for.
func TestNoRegularFile(t *testing.T) {
	for verb, do := range shapeVerbs {
		for _, suffix := range []string{"", "-wal"} {
			for kind, place := range map[string]func(string) error{
				"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
				"directory": func(path string) error { return os.Mkdir(path, 0o700) },
				"device":    func(path string) error { return os.Symlink("/dev/zero", path) },
			} {
				t.Run(verb+" "+suffix+kind, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "state.db")
					if suffix != "" {
						if err := shapeVerbs["open"](path); err != nil {
							t.Fatal(err)
						}
					}
					if err := place(path + suffix); err != nil {
						t.Fatal(err)
					}
					done := inBackground(do, path)
					select {
					case err := <-done:
						if !errors.Is(err, regular.ErrNotRegular) && !(verb == "check" && errors.Is(err, os.ErrExist)) {
							t.Error(err)
						}
					case <-time.After(20 * time.Second):
						t.Fatal("it waits")
					}
				})
			}
		}
	}
}

func inBackground(do func(string) error, path string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do(path) }()
	return done
}

// TestExplainFull: whoever meets the end of a disk, the person reads where to make room.
func TestExplainFull(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, &os.PathError{Op: "write", Path: "/h/state.db", Err: syscall.ENOSPC}} {
		err := explainFull("/h/state.db", cause)
		if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "no space left for state.db: free some in /h, where ") || Classify(err) != BucketDisk {
			t.Error(err)
		}
	}
	if err := explainFull("/h/state.db", os.ErrPermission); err != os.ErrPermission || explainFull("/h/state.db", nil) != nil {
		t.Error(err)
	}
}
