package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestS110WritesThatEndATurn: every write whose failure ends a turn waits as long as its messages do, and says who kept
// it waiting.
func TestS110WritesThatEndATurn(t *testing.T) {
	ctx := context.Background()
	for name, write := range map[string]func(*Store) error{
		"the session row": func(s *Store) error {
			_, _, err := s.EnsureSession(ctx, Session{ID: "new", Source: "cli"})
			return err
		},
		"its prompt":      func(s *Store) error { return s.SetSystemPrompt(ctx, "s", "prompt") },
		"a steer":         func(s *Store) error { return s.SetPendingSteer(ctx, "s", "and this") },
		"compaction lock": func(s *Store) error { _, _, err := s.LockCompaction(ctx, "s", "h", time.Minute); return err },
		"compaction state": func(s *Store) error {
			return s.SetCompactionState(ctx, "s", CompactionState{Failure: "x"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, storePath(t), testOptions(t))
			ensure(t, s, "s")
			impatient(t, s)
			log := watchLog(s)
			foreignWriter(t, s.path)
			var slept time.Duration
			s.sleep = func(_ context.Context, d time.Duration) error {
				slept += d
				return nil
			}
			checkWarning(t, write(s), log, "WAL write lock on state.db-shm")
			if slept != TranscriptBudget {
				t.Errorf("waited %s, want %s", slept, TranscriptBudget)
			}
		})
	}
}

// TestDeadLocksGoOnOpening: what a killed writer held keeps nobody from compacting once the store is another's.
func TestDeadLocksGoOnOpening(t *testing.T) {
	path := storePath(t)
	s := open(t, path, testOptions(t))
	ensure(t, s, "s")
	lockFor(t, s, "s", "killed")
	runSQL(t, s, "INSERT INTO session_turn_leases VALUES ('s', 'killed', 1, 2)")
	if held, _, err := s.LockCompaction(context.Background(), "s", "next", time.Minute); err != nil || held {
		t.Fatalf("a living holder's lock was taken: %t, %v", held, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, testOptions(t))
	var leases int
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM session_turn_leases").Scan(&leases); err != nil || leases != 0 {
		t.Errorf("%d turn leases of a dead holder, %v", leases, err)
	}
	lockFor(t, s, "s", "next")
}

// TestProbe: it says what a write would, waits briefly, and leaves nothing.
func TestProbe(t *testing.T) {
	ctx := context.Background()
	s := open(t, storePath(t), testOptions(t))
	ensure(t, s, "s")
	impatient(t, s)
	foreign := foreignWriter(t, s.path)
	if err := s.Probe(ctx); !errors.Is(err, ErrContended) {
		t.Errorf("locked: %v", err)
	}
	if err := foreign.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(ctx); err != nil {
		t.Errorf("free: %v", err)
	}
	var rows int
	if err := s.readers.QueryRow("SELECT COUNT(*) FROM state_meta WHERE key = ?", probeKey).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows left, %v", rows, err)
	}
}
