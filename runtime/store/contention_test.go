package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// foreignWriter begins an immediate transaction on the file from outside the store, as another program would.
func foreignWriter(t *testing.T, path string) *sql.Tx {
	t.Helper()
	other, err := openDB(path, 1, url.Values{"_txlock": {"immediate"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// TestWriteWaitsOutAnotherWriter: S-110, S-111, S-112. The retry, not SQLite's own wait, gets the row in.
func TestWriteWaitsOutAnotherWriter(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	foreign := foreignWriter(t, s.path)
	var delays []time.Duration
	s.random = func() float64 { return 0.5 }
	s.sleep = func(_ context.Context, d time.Duration) error {
		if delays = append(delays, d); len(delays) == 2 {
			return foreign.Rollback()
		}
		return nil
	}
	say(t, s, "s", "hello")
	if len(delays) != 2 || delays[0] != 85*time.Millisecond {
		t.Errorf("delays %v, want two of 85ms", delays)
	}
	if got, err := s.Messages(context.Background(), "s"); err != nil || len(got) != 1 {
		t.Errorf("%d rows, %v", len(got), err)
	}
}

// TestPatienceEnds: S-110, S-114, with the activity budget, the shortest. The clock stands still, so the budget must
// end by what was slept; and SQLite's own wait must have been cut to the budget and be restored after.
func TestPatienceEnds(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	foreign := foreignWriter(t, s.path)
	var slept time.Duration
	s.random = func() float64 { return 1 }
	s.sleep = func(_ context.Context, d time.Duration) error {
		slept += d
		var wait int
		return errors.Join(s.writer.QueryRow("PRAGMA busy_timeout").Scan(&wait), checkWait(wait, 500))
	}
	err := s.Touch(ctx, "s", "typing", "test")
	if !errors.Is(err, ErrContended) || Classify(err) != BucketLocked {
		t.Errorf("got %v (%s), want ErrContended", err, Classify(err))
	}
	if slept != ActivityBudget {
		t.Errorf("slept %s, want exactly %s", slept, ActivityBudget)
	}
	var wait int
	if err := s.writer.QueryRow("PRAGMA busy_timeout").Scan(&wait); err != nil || wait != 1000 {
		t.Errorf("engine wait %d after the write, %v", wait, err)
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Touch(ctx, "s", "typing", "test"); err != nil {
		t.Errorf("after the lock was let go: %v", err)
	}
}

func checkWait(got, want int) error {
	if got != want {
		return fmt.Errorf("engine wait %d ms, want %d", got, want)
	}
	return nil
}

// TestWriteWaitIsCancellable: a caller that gives up is not kept for the rest of the budget.
func TestWriteWaitIsCancellable(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	foreignWriter(t, s.path)
	ctx, cancel := context.WithCancel(context.Background())
	s.sleep = func(ctx context.Context, d time.Duration) error {
		cancel()
		return sleepContext(ctx, d)
	}
	if _, err := s.Append(ctx, "s", Message{Role: "user"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestWritersQueueInside: 8 goroutines, 200 appends each, one store: nothing lost, nothing interleaved within an
// append, counters exact, and no retry was needed.
func TestWritersQueueInside(t *testing.T) {
	const writers, appends = 8, 200
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	s.sleep = func(context.Context, time.Duration) error { return errors.New("writers of one store met in SQLite") }
	ensure(t, s, "shared")
	var group sync.WaitGroup
	for w := range writers {
		own := fmt.Sprintf("w%d", w)
		ensure(t, s, own)
		group.Go(func() {
			for i := range appends {
				text := fmt.Sprintf("%s %d", own, i)
				pair := []Message{{Role: "user", Content: text}, {Role: "assistant", Content: text}}
				_, err1 := s.Append(ctx, own, pair...)
				_, err2 := s.Append(ctx, "shared", pair...)
				if err := errors.Join(err1, err2); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	shared, err := s.Messages(ctx, "shared")
	if err != nil || len(shared) != 2*writers*appends {
		t.Fatalf("%d shared rows, %v", len(shared), err)
	}
	next := map[string]int{}
	for i := 0; i < len(shared); i += 2 {
		if shared[i].Content != shared[i+1].Content {
			t.Fatalf("rows of two appends interleave at %d", i)
		}
		own, _, _ := strings.Cut(shared[i].Content, " ")
		if want := fmt.Sprintf("%s %d", own, next[own]); shared[i].Content != want {
			t.Fatalf("row %q, want %q", shared[i].Content, want)
		}
		next[own]++
	}
	for w := range writers {
		own := fmt.Sprintf("w%d", w)
		session, _, err := s.Session(ctx, own)
		if err != nil || session.MessageCount != 2*appends {
			t.Errorf("%s counts %d messages, %v", own, session.MessageCount, err)
		}
	}
}

// TestWALStaysBounded: S-111. Many more pages are written than the log may hold.
func TestWALStaysBounded(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	text := strings.Repeat("x", 16<<10)
	for range 2000 {
		say(t, s, "s", text)
	}
	stats, err := s.Stats(ctx)
	if err != nil || stats.SizeBytes < 30<<20 || stats.WALBytes > 2*walLimitBytes {
		t.Errorf("database %d bytes, log %d bytes, %v", stats.SizeBytes, stats.WALBytes, err)
	}
}

// TestPassiveCheckpoint: S-111, seen without the engine's own checkpoint, which works by pages.
func TestPassiveCheckpoint(t *testing.T) {
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	if checkpointEvery != 50 {
		t.Error("S-111: a checkpoint is due every 50 writes")
	}
	if _, err := s.writer.Exec("PRAGMA wal_autocheckpoint = 0"); err != nil {
		t.Fatal(err)
	}
	for s.writes%checkpointEvery != checkpointEvery-1 {
		say(t, s, "s", "x")
	}
	backlog := func() (log, done int) {
		var busy int
		if err := s.readers.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &log, &done); err != nil {
			t.Fatal(err)
		}
		return log, done
	}
	if log, done := backlog(); log == done {
		t.Fatalf("log already written back (%d of %d frames)", done, log)
	}
	say(t, s, "s", "x")
	if log, done := backlog(); log != done {
		t.Errorf("%d of %d frames written back after %d writes", done, log, s.writes)
	}
}

// TestTransactionsBeginImmediate: S-111. A conflict shows before anything of the transaction ran.
func TestTransactionsBeginImmediate(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	foreignWriter(t, s.path)
	s.sleep = func(context.Context, time.Duration) error { return nil }
	ran := 0
	err := s.write(ctx, ActivityBudget, func(ctx context.Context, q *db.Queries) error {
		ran++
		_, err := q.GetSession(ctx, "s")
		return err
	})
	if !errors.Is(err, ErrContended) || ran != 0 {
		t.Errorf("ran %d times beside another writer, %v", ran, err)
	}
}
