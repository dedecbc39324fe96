package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled makes a closed store with enough rows to have pages beyond the schema.
func filled(t *testing.T) string {
	t.Helper()
	path := storePath(t)
	s := open(t, path, testOptions(t))
	ensure(t, s, "s")
	for i := range 40 {
		say(t, s, "s", fmt.Sprintf("%d %s", i, strings.Repeat("x", 3000)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// corrupt overwrites part of a closed file.
func corrupt(t *testing.T, path string, offset int64, length int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(bytes.Repeat([]byte{0xA5}, length), offset); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFileIsRefusedUntouched: S-135, at open.
func TestDamagedFileIsRefusedUntouched(t *testing.T) {
	for name, damage := range map[string]func(path string){
		"header": func(path string) { corrupt(t, path, 0, 100) },
		"schema": func(path string) { corrupt(t, path, 100, 3900) },
		"not a database": func(path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("notes, not a database\n", 500)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			damage(path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(context.Background(), path, testOptions(t))
			if !errors.Is(err, ErrCorrupt) || Classify(err) != BucketCorrupt {
				t.Fatalf("got %v (%s), want ErrCorrupt", err, Classify(err))
			}
			for _, says := range []string{path, "left untouched", "restore a backup"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("message %q lacks %q", err, says)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the damaged file changed: %v", err)
			}
		})
	}
}

// TestDamageQuarantinesTheHandle: S-135, while running. Damage found by a read stops the writes, keeps the log as it
// is over the close, and lets the file be opened again.
func TestDamageQuarantinesTheHandle(t *testing.T) {
	ctx := context.Background()
	path := filled(t)
	var pages int
	s := open(t, path, testOptions(t))
	if err := s.readers.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	corrupt(t, path, 4096*int64(pages/2), 4096*(pages/2-2))

	s = open(t, path, testOptions(t))
	ensure(t, s, "healthy") // something in the log that a checkpoint would write back
	_, readErr := s.Messages(ctx, "s")
	if !errors.Is(readErr, ErrCorrupt) {
		t.Fatalf("reading damaged pages: %v, want ErrCorrupt", readErr)
	}
	before := readFiles(t, path, "", "-wal")
	if _, err := s.Append(ctx, "healthy", Message{Role: "user"}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("write after damage: %v, want ErrCorrupt", err)
	}
	if got := mustStats(t, s); !errors.Is(got.Damage, ErrCorrupt) {
		t.Errorf("stats say %v", got.Damage)
	}
	if _, ok, err := s.Session(ctx, "healthy"); !ok || err != nil {
		t.Errorf("reading what is whole: %v, %v", ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range readFiles(t, path, "", "-wal") {
		if !bytes.Equal(text, before[suffix]) || len(text) == 0 {
			t.Errorf("state.db%s changed when the quarantined store was closed", suffix)
		}
	}
	again := open(t, path, testOptions(t))
	if _, ok, err := again.Session(ctx, "healthy"); !ok || err != nil {
		t.Errorf("after reopening: %v, %v", ok, err)
	}
}

// readFiles is for stores that are closed or, as here, quarantined and about to be: locks no longer matter.
func readFiles(t *testing.T, path string, suffixes ...string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, suffix := range suffixes {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		files[suffix] = text
	}
	return files
}

// TestDiskFull: the engine's own page limit stands in for a full disk; the result code is the same.
func TestDiskFull(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	say(t, s, "s", "before")
	if _, err := s.writer.Exec("PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
	var acked int
	var err error
	for acked = 1; err == nil; acked++ {
		_, err = s.Append(ctx, "s", Message{Role: "user", Content: strings.Repeat("x", 5000)}, Message{Role: "user", Content: "y"})
		if acked > 1000 {
			t.Fatal("the limit does not work")
		}
	}
	acked -= 2 // the loop counts the failed one, and starts at one
	if Classify(err) != BucketDisk {
		t.Errorf("got %v (%s), want disk", err, Classify(err))
	}
	if want := "no space left for state.db: free some in " + filepath.Dir(s.path) + ", where "; !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say what to do: %s", err, want)
	}
	if got, err := s.Messages(ctx, "s"); err != nil || len(got) != 1+2*acked {
		t.Errorf("%d rows, %v; %d were acknowledged", len(got), err, 1+2*acked)
	}
	if _, err := s.writer.Exec("PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	say(t, s, "s", "space again")
	session, _, err := s.Session(ctx, "s")
	if err != nil || session.MessageCount != int64(2+2*acked) {
		t.Errorf("counter %d, %v", session.MessageCount, err)
	}
}
