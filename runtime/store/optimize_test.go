package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestVacuumPays(t *testing.T) {
	for _, c := range []struct {
		id         string
		free, size int64
		want       bool
	}{
		{"S-145 a quarter", 25, 100, true},
		{"S-145 less", 24, 100, false},
		{"S-145 empty", 0, 0, false},
	} {
		t.Run(c.id, func(t *testing.T) {
			if vacuumPays(c.free, c.size) != c.want {
				t.Errorf("%d of %d", c.free, c.size)
			}
		})
	}
}

// TestOptimize: S-144, S-145, with a real full-text index and writes beside it.
func TestOptimize(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "s")
	ensure(t, s, "gone")
	for i := range 60 {
		say(t, s, "gone", fmt.Sprint(i, strings.Repeat(fmt.Sprintf(" word%d", i), 1000), words(i)))
		indexAll(t, s)
	}
	say(t, s, "s", "kept")
	if err := s.mergeIndex(ctx, "messages_fts", 1); err != nil || rowsIn(t, s, "(SELECT DISTINCT segid FROM messages_fts_idx)") != 1 {
		t.Errorf("merged a page at a time: %v, several segments", err)
	}
	if got, err := s.Optimize(ctx, OptimizeOptions{}); err != nil || got.Vacuumed || len(got.Merged) == 0 {
		t.Errorf("full file: %+v, %v", got, err)
	}
	if n := rowsIn(t, s, "messages_fts_idx"); n == 0 || rowsIn(t, s, "(SELECT DISTINCT segid FROM messages_fts_idx)") != 1 {
		t.Errorf("the index has %d entries in several segments", n)
	}
	runSQL(t, s, "DELETE FROM messages WHERE session_id = 'gone'")
	before := mustStats(t, s)
	busy := make(chan error)
	go func() { // another writer of this process waits and gets through
		var errs []error
		for range 20 {
			_, err := s.Append(ctx, "s", Message{Role: "user", Content: "beside"})
			errs = append(errs, err)
		}
		busy <- errors.Join(errs...)
	}()
	got, err := s.Optimize(ctx, OptimizeOptions{})
	if err := errors.Join(err, <-busy); err != nil {
		t.Fatal(err)
	}
	if !got.Vacuumed || got.BytesBefore < before.SizeBytes || got.BytesAfter > before.SizeBytes*3/4 {
		t.Errorf("quarter-empty file: %+v of %+v", got, before)
	}
	if rows, err := s.Messages(ctx, "s"); err != nil || len(rows) != 21 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if got, err := s.Optimize(ctx, OptimizeOptions{AlwaysVacuum: true}); err != nil || !got.Vacuumed {
		t.Errorf("asked to rewrite: %+v, %v", got, err)
	}
	if s.guard.checkFiles() != nil || s.guard.checkLocks() != nil {
		t.Error("S-133: rewriting moved the files or dropped the locks")
	}
}

// TestVacuumNeedsRoom: a disk that is nearly full is not filled up by maintenance.
func TestVacuumNeedsRoom(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	err := s.vacuum(context.Background(), Stats{SizeBytes: 1 << 60})
	if !errors.Is(err, unix.ENOSPC) || Classify(err) != BucketDisk {
		t.Errorf("got %v (%s)", err, Classify(err))
	}
}

// TestCheckpoint: the log is emptied, and a reader that is in the way is said.
func TestCheckpoint(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	say(t, s, "s", "x")
	if got, err := s.Checkpoint(ctx); err != nil || got != (Checkpoint{}) || mustStats(t, s).WALBytes != 0 {
		t.Errorf("%+v, %v, log of %d bytes", got, err, mustStats(t, s).WALBytes)
	}
	reader, err := s.readers.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow("SELECT COUNT(*) FROM messages").Scan(&n); err != nil {
		t.Fatal(err)
	}
	say(t, s, "s", "y")
	s.sleep = func(context.Context, time.Duration) error { return errors.New("it waited for a reader") }
	if got, err := s.Checkpoint(ctx); err != nil || !got.Blocked || got.Frames == 0 {
		t.Errorf("beside a reader: %+v, %v", got, err)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
}

// words are a few hundred that no other document has.
func words(document int) string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, " d%dw%d", document, i)
	}
	return b.String()
}
