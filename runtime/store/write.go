package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// checkpointEvery is the number of successful writes between passive checkpoints (rule S-111).
const checkpointEvery = 50

// write runs fn in one immediate transaction on the write connection. fn may run more than once and must leave no
// trace outside the transaction until write returns. When write returns nil the rows are durable in the sense of
// the package comment.
//
// Implements S-110, S-111 and S-114.
func (s *Store) write(ctx context.Context, budget time.Duration, fn func(context.Context, *db.Queries) error) error {
	prepareOnce := func() (err error) {
		if s.hot == nil {
			s.hot, err = prepare(ctx, s.writer, hotStatements())
		}
		return err
	}
	return s.transact(ctx, budget, prepareOnce, func(ctx context.Context, tx *sql.Tx) error {
		return fn(ctx, db.New(preparedTx{tx, s.hot}))
	})
}

// transact runs fn in one immediate transaction, after before, which may use the write connection too.
func (s *Store) transact(
	ctx context.Context, budget time.Duration, before func() error, fn func(context.Context, *sql.Tx) error,
) error {
	started := s.clock.Now()
	if err := s.admit(ctx, budget); err != nil {
		return err
	}
	defer func() { <-s.gate }()
	restore, err := s.shortenEngineWait(ctx, budget)
	if err != nil {
		return s.judge(ctx, err)
	}
	defer restore()
	left := budget - s.clock.Since(started)
	op := func() error {
		if err := before(); err != nil {
			return err
		}
		return s.attempt(ctx, fn)
	}
	err = s.patiently(ctx, left, op)
	if err = s.survivingIndexDamage(ctx, budget, err, op); err != nil {
		if budget == TranscriptBudget && errors.Is(err, ErrContended) {
			s.warnOwners()
		}
		return s.judge(ctx, err)
	}
	s.afterWrite(ctx)
	return nil
}

// admit waits for the write connection and makes sure that it may be used. When it returns nil the caller holds the
// gate and gives it back.
//
// Implements S-130 for writes.
func (s *Store) admit(ctx context.Context, budget time.Duration) error {
	if s.readOnly {
		return ErrReadOnly
	}
	if err := s.enter(ctx, budget); err != nil {
		return err
	}
	err := s.refusal()
	if s.closed.Load() {
		err = ErrClosed
	}
	if err == nil {
		if moved := s.guard.checkFiles(); moved != nil {
			err = s.quarantine(moved)
		}
	}
	if err != nil {
		<-s.gate
	}
	return err
}

// enter waits for the write connection, at most budget.
func (s *Store) enter(ctx context.Context, budget time.Duration) error {
	select {
	case s.gate <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(budget)
	defer timer.Stop()
	select {
	case s.gate <- struct{}{}:
		return nil
	case <-timer.C:
		return fmt.Errorf("%w for %s behind other writes of this process", ErrContended, budget)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Store) attempt(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit this does nothing; after an error the cause is fn's
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// patiently repeats op while SQLite's lock is held by somebody else, until budget is spent. The lock is recognised by
// result code only (rule S-112): text may carry words of the caller's data.
func (s *Store) patiently(ctx context.Context, budget time.Duration, op func() error) error {
	started, slept := s.clock.Now(), time.Duration(0)
	for {
		err := op()
		if !contended(err) {
			return err
		}
		// The larger of the two: a clock that stands still must not make patience endless.
		delay, ok := retryDelay(max(s.clock.Since(started), slept), budget, s.random())
		if !ok {
			return fmt.Errorf("%w for %s: %w", ErrContended, budget.Round(time.Millisecond), err)
		}
		if err := s.sleep(ctx, delay); err != nil {
			return err
		}
		slept += delay
	}
}

// shortenEngineWait keeps SQLite's own wait within a budget that is shorter than it.
func (s *Store) shortenEngineWait(ctx context.Context, budget time.Duration) (restore func(), err error) {
	wait := engineWait(budget)
	if wait == engineTimeout {
		return func() {}, nil
	}
	set := func(ctx context.Context, d time.Duration) error {
		_, err := s.writer.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := set(ctx, wait); err != nil {
		return nil, err
	}
	return func() {
		if err := set(context.WithoutCancel(ctx), engineTimeout); err != nil {
			s.log.Error(err, "restore busy timeout")
		}
	}, nil
}

// afterWrite does the upkeep between transactions, still holding the gate.
func (s *Store) afterWrite(ctx context.Context) {
	s.writes++
	if s.writes%checkpointEvery != 0 {
		return
	}
	for _, check := range []func() error{s.guard.checkLocks, s.checkHeader} {
		if err := check(); err != nil {
			_ = s.quarantine(err) // the write before it stands; the next one is refused
			return
		}
	}
	// Passive: it never waits for a reader. Its failure costs nothing but a longer log, so it is not the writer's.
	if _, err := s.writer.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		s.log.Error(s.judge(ctx, err), "checkpoint session store")
	}
}

// read runs fn on the read connections. A connection that is opened while the log's name is gone would mint another
// log, so reading needs the files in place as writing does.
//
// Implements S-130 for reads.
func (s *Store) read(ctx context.Context, fn func(*db.Queries) error) error {
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.refusal(); errors.Is(err, ErrReplaced) {
		return err
	}
	if err := s.guard.checkFiles(); err != nil {
		return s.underGate(ctx, err, s.quarantine)
	}
	err := s.patiently(ctx, ReadBudget, func() error { return fn(s.queries) })
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if !structuralDamage(err) {
		return s.judge(ctx, err)
	}
	return s.underGate(ctx, err, func(err error) error { return s.judge(ctx, err) })
}

// underGate lets judge quarantine the handle, for which a writable store's caller must hold the gate.
func (s *Store) underGate(ctx context.Context, cause error, judge func(error) error) error {
	if s.readOnly {
		return judge(cause)
	}
	if err := s.enter(ctx, ReadBudget); err != nil {
		return errors.Join(cause, err)
	}
	defer func() { <-s.gate }()
	return judge(cause)
}

// judge turns a failure into the error a caller sees and quarantines the handle when the file is damaged. A writable
// store's caller holds the gate.
func (s *Store) judge(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("session store: %w", cause)
	}
	if structuralDamage(err) {
		return s.quarantine(fmt.Errorf("%s: %w (%w)", s.path, ErrCorrupt, err))
	}
	return explainFull(s.path, err)
}

// quarantine stops all writing through this handle for good and returns the cause. The first cause stands. The
// caller holds the gate.
//
// Implements S-135.
func (s *Store) quarantine(cause error) error {
	if !s.damage.CompareAndSwap(nil, &cause) {
		return *s.damage.Load()
	}
	s.log.Error(cause, "session store quarantined: nothing more is written through this handle")
	switch {
	case errors.Is(cause, ErrCorrupt) && s.readers != nil:
		s.pin = pinReader(s.readers)
	case errors.Is(cause, ErrReplaced):
		s.captureRetired(Classify(cause))
	}
	return cause
}

// pinReader opens the read-only connection that will be closed last. SQLite checkpoints on the last close only if
// that connection could lock the file for writing, which one opened read-only cannot. It reads once, because only
// then does it hold the shared lock that keeps the writer's close from being the last.
func pinReader(readers *sql.DB) *sql.Conn {
	ctx, cancel := context.WithTimeout(context.Background(), ReadBudget)
	defer cancel()
	conn, err := readers.Conn(ctx)
	if err != nil {
		return nil
	}
	var version int64
	if err := conn.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		_ = conn.Close() // it goes back to its pool
		return nil
	}
	return conn
}

// contended is true when another connection holds SQLite's lock.
func contended(err error) bool {
	code, ok := resultCode(err)
	return ok && (code&0xff == codeBusy || code&0xff == codeLocked)
}

// structuralDamage is true when SQLite found the file itself damaged, as opposed to a full-text index in it.
func structuralDamage(err error) bool {
	code, ok := resultCode(err)
	return ok && (code&0xff == codeCorrupt || code&0xff == codeNotADB) && Classify(err) == BucketCorrupt
}
