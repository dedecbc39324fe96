package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of one step in filling the index: writes of a turn wait for a step at most, and a kilobyte takes about
// a millisecond.
const (
	ftsStepRows  = 64
	ftsStepBytes = 32 << 10
)

// New rows are indexed after ftsQuiet without another one, at the latest after ftsQuietMost times that.
const (
	ftsQuiet     = 2 * time.Second
	ftsQuietMost = 15
)

// indexer builds the full-text index of one store in the background.
type indexer struct {
	mu      sync.Mutex
	running bool
	again   bool // asked to start while running
	stopped bool
	cancel  context.CancelFunc
	done    chan struct{}

	appended atomic.Int64 // counts Appends
	pause    func(context.Context, time.Duration) error
}

// prepareIndex makes the full-text index what this program needs, or at least keeps it from standing in the way: a
// store without an index loses searches, never rows. It is called once, before anybody else can write.
func (s *Store) prepareIndex(ctx context.Context) error {
	waiting := false
	err := s.patiently(ctx, OpenBudget, func() error {
		state, err := readFTS(ctx, s.writer)
		if err != nil {
			return err
		}
		if !state.current() {
			if err := s.recreateIndex(ctx); err != nil {
				return err
			}
		}
		waiting, err = rowsWait(ctx, s.writer)
		return err
	})
	switch {
	case errors.Is(err, ErrContended) || ctx.Err() != nil:
		return err
	case err != nil: // whoever reads the damaged part finds out; the rest of the store is worth opening
		s.log.Error(err, "look at the full-text index")
	case waiting:
		s.startIndexing()
	}
	return nil
}

// rowsWait is true when there are rows that an index lacks.
func rowsWait(ctx context.Context, q querier) (wait bool, err error) {
	span, err := readSpan(ctx, q)
	if err != nil || span.floor.Valid {
		return span.floor.Valid, err
	}
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM messages WHERE id > ?)", span.through).Scan(&wait)
	return wait, err
}

// recreateIndex replaces the index by an empty one. When even that fails the index is only taken out of the way of
// writes, and searches read messages instead; that is logged, not returned. The caller may use the writer alone.
func (s *Store) recreateIndex(ctx context.Context) error {
	err := s.attempt(ctx, func(ctx context.Context, tx *sql.Tx) error { return recreateFTS(ctx, tx) })
	if err == nil || contended(err) || ctx.Err() != nil || structuralDamage(err) {
		return err
	}
	s.log.Error(err, "the full-text index cannot be made: searches read the messages themselves")
	return s.attempt(ctx, func(ctx context.Context, tx *sql.Tx) error { return dropFTSTriggers(ctx, tx) })
}

// survivingIndexDamage repeats a write that failed only because the full-text index is damaged, after the index was
// replaced by an empty one, which is then filled in the background. The caller holds the gate.
func (s *Store) survivingIndexDamage(ctx context.Context, budget time.Duration, err error, again func() error) error {
	if !indexDamage(err) {
		return err
	}
	s.log.Error(err, "the full-text index is damaged: it is made anew; no message is lost")
	err = s.patiently(ctx, budget, func() error {
		if err := s.recreateIndex(ctx); err != nil {
			return err
		}
		return again()
	})
	s.startIndexing()
	return err
}

// repairIndex is survivingIndexDamage for a search.
func (s *Store) repairIndex(ctx context.Context, cause error) error {
	if s.readOnly {
		return nil
	}
	s.log.Error(cause, "the full-text index is damaged: it is made anew; no message is lost")
	err := s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error { return recreateFTS(ctx, tx) })
	if err == nil {
		s.startIndexing()
	}
	return err
}

// indexDamage is true for a failure that lies in the full-text index and not in the rest of the file. Beside what
// Classify knows, a missing or foreign part of the index is a plain error that names the index; the text of such an
// error is SQLite's and never carries a caller's words, because all statements are ours.
func indexDamage(err error) bool {
	if err == nil || contended(err) {
		return false
	}
	if Classify(err) == BucketFTSIndex {
		return true
	}
	const codeError = 1
	code, ok := resultCode(err)
	text := err.Error()
	return ok && code&0xff == codeError && (strings.Contains(text, ftsWords) || strings.Contains(text, "no such tokenizer"))
}

// startIndexing fills the index in the background until it is complete or the store closes.
func (s *Store) startIndexing() {
	x := &s.indexer
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.running || x.stopped {
		x.again = x.running
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	x.running, x.cancel, x.done = true, cancel, make(chan struct{})
	go func() {
		defer close(x.done)
		defer cancel()
		for {
			s.fillIndexSafely(ctx)
			if !x.goOn() {
				return
			}
		}
	}()
}

// goOn ends the goroutine unless it was asked to start again meanwhile.
func (x *indexer) goOn() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running = x.again && !x.stopped
	x.again = false
	return x.running
}

func (s *Store) fillIndexSafely(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil { // nobody above would catch it, and an index is not worth a gateway
			s.log.Error(fmt.Errorf("%v", p), "build the full-text index", "stack", string(debug.Stack()))
		}
	}()
	s.fillIndex(ctx)
}

// stopIndexing waits until nothing is indexed any more; what is missing is indexed after the next Open.
func (s *Store) stopIndexing() {
	x := &s.indexer
	x.mu.Lock()
	x.stopped = true
	cancel, done := x.cancel, x.done
	x.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}

// noteAppended has new rows indexed once the store is quiet.
func (s *Store) noteAppended() {
	s.indexer.appended.Add(1)
	s.startIndexing()
}

// fillIndex waits until the store is quiet and runs steps until there is nothing left. Half of the time is left to
// others.
func (s *Store) fillIndex(ctx context.Context) {
	if !s.untilQuiet(ctx) {
		return
	}
	started, rows := s.clock.Now(), int64(0)
	for {
		begun := s.clock.Now()
		n, left, err := s.indexStep(ctx)
		rows += n
		switch {
		case errors.Is(err, ErrContended):
		case err != nil:
			if ctx.Err() == nil && !errors.Is(err, ErrClosed) {
				s.log.Error(err, "fill the full-text index: it goes on when the store is opened again")
			}
			return
		case !left:
			s.log.V(1).Info("full-text index is complete", "rows", rows, "took", s.clock.Since(started))
			return
		}
		if err := s.indexer.pause(ctx, s.clock.Since(begun)); err != nil {
			return
		}
	}
}

// untilQuiet waits for a moment in which nothing was appended, but not for ever. It is false when ctx ended.
func (s *Store) untilQuiet(ctx context.Context) bool {
	for range ftsQuietMost {
		seen := s.indexer.appended.Load()
		if err := s.indexer.pause(ctx, ftsQuiet); err != nil {
			return false
		}
		if s.indexer.appended.Load() == seen {
			break
		}
	}
	return true
}

// indexStep indexes a few rows in one transaction that also moves the mark: first the newest that wait, then, while
// an index is being built, those below the floor. Killed at any moment, the next step goes on where this one was.
func (s *Store) indexStep(ctx context.Context) (rows int64, left bool, err error) {
	err = s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		rows, left = 0, false
		state, err := readFTS(ctx, tx)
		if err != nil || !state.current() {
			return err // there is no index: that was logged when it could not be made
		}
		span := state.span
		high, err := stepEnd(ctx, tx, "id > ? ORDER BY id", span.through)
		if err != nil {
			return err
		}
		if left = high > span.through; left {
			rows, err = fillRange(ctx, tx, span.through+1, high)
			return errors.Join(err, writeMeta(ctx, tx, metaFTSThrough, strconv.FormatInt(high, 10)))
		}
		if !span.floor.Valid {
			return nil
		}
		low, err := stepEnd(ctx, tx, "id < ? ORDER BY id DESC", span.floor.Int64)
		if err != nil {
			return err
		}
		if left = low < span.floor.Int64; !left {
			return deleteMeta(ctx, tx, metaFTSFloor)
		}
		rows, err = fillRange(ctx, tx, low, span.floor.Int64-1)
		return errors.Join(err, writeMeta(ctx, tx, metaFTSFloor, strconv.FormatInt(low, 10)))
	})
	return rows, left, err
}

// stepEnd is the id of the last row of a step that begins beyond from; from itself when there is no row.
func stepEnd(ctx context.Context, tx *sql.Tx, beyond string, from int64) (int64, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, COALESCE(octet_length(content), 0) + COALESCE(octet_length(tool_calls), 0)
		FROM messages WHERE `+beyond+` LIMIT ?`, from, ftsStepRows)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for bytes := int64(0); bytes < ftsStepBytes && rows.Next(); {
		var size int64
		if err := rows.Scan(&from, &size); err != nil {
			return 0, err
		}
		bytes += size
	}
	return from, rows.Err()
}

// fillRange indexes the rows with ids from first to last.
func fillRange(ctx context.Context, tx *sql.Tx, first, last int64) (rows int64, err error) {
	filled, err := tx.ExecContext(ctx, `INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
		SELECT id, content, tool_name, tool_calls FROM messages_fts_source WHERE id BETWEEN ? AND ? ORDER BY id`, first, last)
	if err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx, `INSERT INTO messages_fts_trigram(rowid, content, tool_name)
		SELECT m.id, m.content, m.tool_name FROM messages_fts_source m JOIN sessions s ON s.id = m.session_id
		WHERE m.id BETWEEN ? AND ? AND `+inTrigrams+` ORDER BY m.id`, first, last); err != nil {
		return 0, err
	}
	return filled.RowsAffected()
}
