package manifests

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDirectoryWithAPipe: what is no file is named and hides nothing. Opening the pipe would wait for a writer forever.
func TestDirectoryWithAPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link, good := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml"), filepath.Join(dir, "c.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, []byte(alice), 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan []string, 1)
	go func() { read <- summary(Read([]string{dir}, nil)) }()
	want := []string{pipe + " error: is not a regular file", link + " error: is not a regular file", good + ":1 (document 1) profile.hermes.dev/alice"}
	select {
	case got := <-read:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	case <-time.After(30 * time.Second):
		if w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close() // lets go of the reader
		}
		t.Fatal("reading a directory waits for a pipe")
	}
}

// TestNamedPipeIsRead: a pipe that was named is what a shell makes of <(command).
func TestNamedPipeIsRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte(alice), 0o600) }()
	if diff := cmp.Diff([]string{pipe + ":1 (document 1) profile.hermes.dev/alice"}, summary(Read([]string{pipe}, nil))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTooLargeIsRefusedWhole: the beginning of a manifest must not be applied as if it were all of it.
func TestTooLargeIsRefusedWhole(t *testing.T) {
	large := alice + "---\n" + strings.Repeat("# a comment of some length, over and over\n", maxManifest/42+1)
	for _, in := range []string{"-", "/dev/zero"} {
		if diff := cmp.Diff([]string{in + " error: is larger than 64 MiB"}, summary(Read([]string{in}, strings.NewReader(large)))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", in, diff)
		}
	}
}

// TestCommentsCostTheirLength: a file of nothing but comments is split in linear time; looking for content from the
// start of the document at every line takes minutes for this one.
func TestCommentsCostTheirLength(t *testing.T) {
	const lines = 200_000
	raw := append(bytes.Repeat([]byte("# a comment\n"), lines), alice...)
	done := make(chan []Document, 1)
	go func() { done <- Parse("f", raw) }()
	select {
	case docs := <-done:
		if len(docs) != 1 || docs[0].Line != lines+1 {
			t.Errorf("%v", summary(docs))
		}
	case <-time.After(30 * time.Second):
		t.Fatal("splitting takes more than its length")
	}
}
