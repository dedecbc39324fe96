package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// ErrStale means that the rows a compaction was planned from are not the session's active rows any more.
var ErrStale = errors.New("the session changed meanwhile")

// Compaction replaces a session's active rows by a new generation.
type Compaction struct {
	SessionID string
	// Holder must have the session's compaction lock.
	Holder string
	// From are the ids of the active rows that the new generation was made from, in order.
	From []int64
	// Rows are the new generation in order: retained rows, and the summary in place of the others.
	Rows []Message
	// State is recorded with it.
	State CompactionState
}

// CompactionState is what a session remembers about its compactions. Zero times are NULL.
type CompactionState struct {
	// CooldownUntil is until when no summary is asked of a model, and Failure why.
	CooldownUntil time.Time
	Failure       string
	// FallbackStreak counts the compactions since a model last wrote the summary.
	FallbackStreak int64
	// IneffectiveCount counts the passes since one last made the session notably smaller. From a certain number on
	// nothing is compacted on the agent's own account until RecoveryDeadline.
	IneffectiveCount int64
	RecoveryDeadline time.Time
	// OverloadStreak counts the summaries in a row that failed because the model's server had no capacity.
	OverloadStreak int64
}

// Compact makes the new generation the session's active rows, in one transaction: the rows before it stay in the file
// with active 0 and compacted 1, and every row of the new one is inserted, equal text or not. A crash leaves the old
// state or the new one. It returns the rows as stored. Errors: ErrStale, ErrCompression when the lock is not the
// holder's, ErrNoSession, ErrContended after TranscriptBudget.
//
// Implements S-102.
func (s *Store) Compact(ctx context.Context, c Compaction) ([]Message, error) {
	if len(c.Rows) == 0 {
		return nil, errors.New("compaction: a session keeps at least one row")
	}
	stored := make([]Message, len(c.Rows))
	params := make([]db.InsertMessageParams, len(c.Rows))
	now := s.clock.Now()
	for i, m := range c.Rows {
		if _, err := m.check(); err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(c.Rows), err)
		}
		if m.Timestamp.IsZero() {
			m.Timestamp = now
		}
		m.SessionID, m.Compacted = c.SessionID, false
		params[i] = m.insertParams()
		m.Timestamp = fromEpoch(params[i].Timestamp)
		stored[i] = m
	}
	err := s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		if err := c.mayReplace(ctx, q); err != nil {
			return err
		}
		if _, err := q.SupersedeMessages(ctx, c.SessionID); err != nil {
			return err
		}
		for i := range params {
			var err error
			if stored[i].ID, err = q.InsertMessage(ctx, params[i]); err != nil {
				return err
			}
		}
		return setCompactionState(ctx, q, c.SessionID, c.State)
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// mayReplace checks the lock and that the rows are still those of the plan.
func (c Compaction) mayReplace(ctx context.Context, q *db.Queries) error {
	lock, err := q.GetCompressionLock(ctx, c.SessionID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && lock.Holder != c.Holder {
		return fmt.Errorf("session %q: %w by another holder", c.SessionID, ErrCompression)
	}
	if err != nil {
		return err
	}
	ids, err := q.ActiveMessageIDs(ctx, c.SessionID)
	if err != nil {
		return err
	}
	if !slices.Equal(ids, c.From) {
		return fmt.Errorf("session %q: %w: %d rows were planned for, %d are active", c.SessionID, ErrStale, len(c.From), len(ids))
	}
	return nil
}

// LockCompaction takes the session's compaction lock for holder until ttl is over, or extends it. It never waits: held
// false is another holder's lock, which ends at until. A lock that has expired is taken over; one that a crash left is
// dropped when the store is opened.
func (s *Store) LockCompaction(ctx context.Context, sessionID, holder string, ttl time.Duration) (held bool, until time.Time, err error) {
	if holder == "" || ttl <= 0 {
		return false, time.Time{}, errors.New("compaction lock: holder and ttl must be set")
	}
	now := s.clock.Now()
	err = s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		n, err := q.TakeCompressionLock(ctx, db.TakeCompressionLockParams{
			SessionID: sessionID, Holder: holder, Now: epoch(now), ExpiresAt: epoch(now.Add(ttl)),
		})
		if err != nil {
			return err
		}
		row, err := q.GetCompressionLock(ctx, sessionID)
		held, until = n > 0, fromEpoch(row.ExpiresAt)
		return err
	})
	return held, until, err
}

// UnlockCompaction gives the lock up; one that is not the holder's stays.
func (s *Store) UnlockCompaction(ctx context.Context, sessionID, holder string) error {
	return s.write(ctx, RoutineBudget, func(ctx context.Context, q *db.Queries) error {
		_, err := q.DropCompressionLock(ctx, db.DropCompressionLockParams{SessionID: sessionID, Holder: holder})
		return err
	})
}

// CompactionState returns what a session remembers about its compactions. Errors: ErrNoSession.
func (s *Store) CompactionState(ctx context.Context, sessionID string) (state CompactionState, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		row, err := q.GetCompactionState(ctx, sessionID)
		if err != nil {
			return err
		}
		state = CompactionState{
			CooldownUntil: fromNullEpoch(row.CompressionFailureCooldownUntil), Failure: row.CompressionFailureError.String,
			FallbackStreak: row.CompressionFallbackStreak.Int64, IneffectiveCount: row.CompressionIneffectiveCount.Int64,
			RecoveryDeadline: fromNullEpoch(row.CompressionRecoveryDeadline), OverloadStreak: row.CompressionOverloadStreak.Int64,
		}
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		return CompactionState{}, noSession(sessionID)
	}
	return state, err
}

// SetCompactionState records it without a compaction. Errors: ErrNoSession.
func (s *Store) SetCompactionState(ctx context.Context, sessionID string, state CompactionState) error {
	return s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		return setCompactionState(ctx, q, sessionID, state)
	})
}

func setCompactionState(ctx context.Context, q *db.Queries, sessionID string, state CompactionState) error {
	n, err := q.SetCompactionState(ctx, db.SetCompactionStateParams{
		CompressionFailureCooldownUntil: nullEpoch(state.CooldownUntil), CompressionFailureError: nullText(state.Failure),
		CompressionFallbackStreak: count(state.FallbackStreak), CompressionIneffectiveCount: count(state.IneffectiveCount),
		CompressionRecoveryDeadline: nullEpoch(state.RecoveryDeadline), CompressionOverloadStreak: count(state.OverloadStreak),
		ID: sessionID,
	})
	if err == nil && n == 0 {
		err = noSession(sessionID)
	}
	return err
}
