package store

import (
	"context"
	"database/sql"
	"fmt"

	"hermes.dev/hermes/runtime/store/db"
)

// IndexState is what a store has of its full-text index.
type IndexState struct {
	// Version is the layout on file, "" when there is none; Current says that it is the one this program makes.
	Version string
	Current bool
	// Missing counts messages that are not indexed yet.
	Missing int64
}

// IndexState reads the state of the full-text index.
func (s *Store) IndexState(ctx context.Context) (IndexState, error) {
	var out IndexState
	err := s.read(ctx, func(*db.Queries) error {
		state, err := readFTS(ctx, s.readers)
		if err != nil {
			return err
		}
		out = IndexState{Version: state.version, Current: state.current()}
		floor := state.span.floor.Int64 // 0 when nothing is missing below
		if !out.Current {
			state.span.through = 0
		}
		return s.readers.QueryRowContext(ctx, "SELECT COUNT(*) FROM messages WHERE id < ? OR id > ?", floor, state.span.through).Scan(&out.Missing)
	})
	return out, err
}

// CompleteIndex brings the full-text index to this program's layout and up to date before it returns; one that
// SQLite finds inconsistent is made anew. Other writes pass between its steps. It returns how many messages it
// indexed.
func (s *Store) CompleteIndex(ctx context.Context) (rows int64, err error) {
	var sound bool
	err = s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		state, err := readFTS(ctx, tx)
		if err != nil {
			return err
		}
		if sound = state.current() && checkFTS(ctx, tx, state.span) == nil; sound {
			return nil
		}
		return recreateFTS(ctx, tx)
	})
	if err != nil {
		return 0, fmt.Errorf("make the full-text index: %w", err)
	}
	if !sound {
		s.log.Info("the full-text index is made anew")
	}
	for {
		n, left, err := s.indexStep(ctx)
		rows += n
		if err != nil || !left {
			return rows, err
		}
	}
}

// checkFTS has SQLite compare each index with what it recorded of itself, and counts whether every message of the
// span is in.
func checkFTS(ctx context.Context, c ftsConn, span ftsSpan) error {
	for _, table := range []string{ftsWords, ftsTrigrams} {
		if _, err := c.ExecContext(ctx, "INSERT INTO "+table+"("+table+") VALUES ('integrity-check')"); err != nil {
			return err
		}
	}
	var missing int64
	err := c.QueryRowContext(ctx, `SELECT COUNT(*) FROM messages WHERE id BETWEEN ? AND ?
		AND id NOT IN (SELECT id FROM messages_fts_docsize)`, span.floor.Int64, span.through).Scan(&missing)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d messages are missing", missing)
	}
	return err
}
