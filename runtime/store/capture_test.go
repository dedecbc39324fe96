package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// cutOff makes a store with rows that are only in its log, and takes its sidecars away.
func cutOff(t *testing.T) *Store {
	t.Helper()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	for range 20 {
		say(t, s, "s", "acknowledged")
	}
	if err := errors.Join(os.Remove(s.path+"-wal"), os.Remove(s.path+"-shm")); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCaptureHoldsEveryAcknowledgedRow: S-132, S-131 "nothing that was saved is lost".
func TestCaptureHoldsEveryAcknowledgedRow(t *testing.T) {
	ctx := context.Background()
	s := cutOff(t)
	release(t, s)
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrDeletedWAL) {
		t.Fatalf("got %v, want ErrDeletedWAL", err)
	}
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrDeletedWAL) {
		t.Fatal(err)
	}
	dirs, err := Captures(s.path)
	if err != nil || len(dirs) != 1 {
		t.Fatalf("captures %v, %v: want one", dirs, err)
	}
	if name := filepath.Base(dirs[0]); !strings.HasPrefix(name, "state.db.retired-wal-20261129-120000-") {
		t.Errorf("directory %s", name)
	}
	m := checkManifest(t, s, dirs[0])
	if m.Trigger != "deleted_wal" || m.PathGeneration["-wal"] != nil || m.PathGeneration[""] == nil {
		t.Errorf("manifest %+v", m)
	}
	copied := filepath.Join(t.TempDir(), "state.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(filepath.Join(dirs[0], "state.db"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	restored := open(t, copied, testOptions(t))
	if got, err := restored.Messages(ctx, "s"); err != nil || len(got) != 20 {
		t.Errorf("%d rows in the capture, %v; 20 were acknowledged", len(got), err)
	}
	if now, err := s.guard.readLocks(); err != nil || now != (heldLocks{main: true, shm: true}) {
		t.Errorf("S-133: the capture dropped locks: %+v, %v", now, err)
	}
	// A read connection that is opened now would mint a new log.
	if _, err := s.Messages(ctx, "s"); !errors.Is(err, ErrDeletedWAL) {
		t.Errorf("S-130: read: %v, want ErrDeletedWAL", err)
	}
	if _, err := os.Lstat(s.path + "-wal"); err == nil {
		t.Error("S-130: a new log was made")
	}
}

// checkManifest compares a capture with its manifest.
func checkManifest(t *testing.T, s *Store, dir string) manifest {
	t.Helper()
	var m manifest
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != 1 || m.Database != s.path || m.PID != os.Getpid() || m.CapturedAt != "2026-11-29T12:00:00Z" || m.Note == "" {
		t.Errorf("manifest %+v", m)
	}
	for suffix, file := range map[string]*capturedFile{"": m.Main, "-wal": m.WAL, "-shm": m.SHM} {
		if file == nil {
			t.Fatalf("state.db%s is not in the manifest", suffix)
		}
		text, err := os.ReadFile(filepath.Join(dir, file.File))
		sum := sha256.Sum256(text)
		if err != nil || int64(len(text)) != file.Bytes || hex.EncodeToString(sum[:]) != file.SHA256 || file.Identity != identityOf(s.guard.files[suffix]) {
			t.Errorf("state.db%s: %d bytes, %v; manifest %+v", suffix, len(text), err, file)
		}
		if info, err := os.Stat(filepath.Join(dir, file.File)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("S-105: %v, %v", info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("S-105: %v, %v", info.Mode(), err)
	}
	return m
}

func (s *Store) testCapture() capture {
	return capture{
		path: s.path, opened: s.guard.files, trigger: BucketDeletedWAL, now: testStart,
		descriptors: ownDescriptors(s.guard.files), read: pread, stat: statDescriptor,
	}
}

// nothingLeft fails when a capture or a part of one is beside the store.
func nothingLeft(t *testing.T, s *Store) {
	t.Helper()
	left, err := filepath.Glob(s.path + captureMark + "*")
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestCaptureAborts: T-233, S-132.
func TestCaptureAborts(t *testing.T) {
	s := cutOff(t)
	gone := errors.New("gone")
	for id, test := range map[string]struct {
		change func(c *capture)
		want   error
	}{
		"T-233": {func(c *capture) {
			c.read = func(fd int, p []byte, offset int64) (int, error) {
				if offset > 0 {
					return 0, nil // the file ends early
				}
				return pread(fd, p[:100], offset)
			}
		}, errShortRead},
		"S-132 unreadable":               {func(c *capture) { c.read = func(int, []byte, int64) (int, error) { return 0, gone } }, gone},
		"S-132 no descriptor of the log": {func(c *capture) { delete(c.descriptors, c.opened["-wal"]) }, nil},
		"S-132 descriptor now another file": {func(c *capture) {
			c.stat = func(int) (fileID, int64, error) { return fileID{1, 1}, 1, nil }
		}, nil},
		"S-132 descriptor became another file meanwhile": {func(c *capture) {
			read := false
			c.read = func(fd int, p []byte, offset int64) (int, error) { read = true; return pread(fd, p, offset) }
			c.stat = func(fd int) (fileID, int64, error) {
				id, size, err := statDescriptor(fd)
				if read {
					read, id = false, fileID{1, 1}
				}
				return id, size, err
			}
		}, nil},
	} {
		t.Run(id, func(t *testing.T) {
			c := s.testCapture()
			test.change(&c)
			if dir, err := c.run(); err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("captured %q, %v; want %v", dir, err, test.want)
			}
			nothingLeft(t, s)
		})
	}
	if got := ownDescriptors(s.guard.files); len(got) != 3 {
		t.Errorf("T-233: the handle was not kept: %v", got)
	}
}

// TestReadNoticesFirst: S-130. It need not be a write that finds the log gone.
func TestReadNoticesFirst(t *testing.T) {
	ctx := context.Background()
	s := cutOff(t)
	release(t, s)
	for range 2 {
		if _, err := s.Messages(ctx, "s"); !errors.Is(err, ErrDeletedWAL) {
			t.Fatalf("read: %v, want ErrDeletedWAL", err)
		}
	}
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, ErrDeletedWAL) {
		t.Errorf("write: %v", err)
	}
	if dirs, err := Captures(s.path); err != nil || len(dirs) != 1 {
		t.Errorf("captures %v, %v", dirs, err)
	}
	if _, err := os.Lstat(s.path + "-wal"); err == nil {
		t.Error("a new log was made")
	}
}

// TestCaptureOfALargeDatabase: S-132. Only its header is kept, and a second capture in a second gets its own name.
func TestCaptureOfALargeDatabase(t *testing.T) {
	s := cutOff(t)
	c := s.testCapture()
	main := c.opened[""]
	c.stat = func(fd int) (fileID, int64, error) {
		id, size, err := statDescriptor(fd)
		if id == main {
			size = captureMainLimit + 1
		}
		return id, size, err
	}
	first, err1 := c.run()
	second, err2 := c.run()
	if err := errors.Join(err1, err2); err != nil || second != first+"-2" {
		t.Fatalf("%s, %s, %v", first, second, err)
	}
	m := checkManifest(t, s, first)
	if m.Main.File != "state.db.header" || !m.Main.HeaderOnly || m.Main.Bytes != headerBytes || m.WAL.HeaderOnly {
		t.Errorf("%+v", m.Main)
	}
	if dirs, err := Captures(s.path); err != nil || !reflect.DeepEqual(dirs, []string{first, second}) {
		t.Errorf("%v, %v", dirs, err)
	}
}
