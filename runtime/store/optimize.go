package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/runtime/store/db"
)

const (
	// vacuumShare is the unused share of a file from which rewriting it pays (rule S-145).
	vacuumShare = 0.25
	// mergePages is how much of a full-text index one transaction merges before it lets other writes pass.
	mergePages = 500
)

// OptimizeOptions say how far an optimisation goes.
type OptimizeOptions struct {
	// AlwaysVacuum rewrites the file whatever its unused share.
	AlwaysVacuum bool
}

// Optimized is what an optimisation did.
type Optimized struct {
	// Merged are the full-text indexes that were merged.
	Merged []string
	// Vacuumed says whether the file was rewritten.
	Vacuumed bool
	// BytesBefore and BytesAfter are the size of the database by its page count.
	BytesBefore, BytesAfter int64
}

// Optimize merges the full-text indexes in small steps and rewrites the file when a quarter of it is unused. Other
// writes wait while the file is rewritten. No other process may have the store open: this handle's lock keeps out
// whoever asks for it, ScanHolders finds the others. A second handle in this process cannot exist (S-144).
// Errors: a disk that cannot hold the rewritten copy is refused before anything is done.
//
// Implements S-144 and S-145.
func (s *Store) Optimize(ctx context.Context, o OptimizeOptions) (Optimized, error) {
	if s.readOnly {
		return Optimized{}, ErrReadOnly
	}
	before, err := s.Stats(ctx)
	if err != nil {
		return Optimized{}, err
	}
	done := Optimized{BytesBefore: before.SizeBytes, BytesAfter: before.SizeBytes}
	indexes, err := s.fullTextTables(ctx)
	if err != nil {
		return done, err
	}
	for _, table := range indexes {
		if err := s.mergeIndex(ctx, table, mergePages); err != nil {
			return done, fmt.Errorf("merge %s: %w", table, err)
		}
		done.Merged = append(done.Merged, table)
	}
	now, err := s.Stats(ctx) // merging frees pages
	if err != nil {
		return done, err
	}
	if o.AlwaysVacuum || vacuumPays(now.FreeBytes, now.SizeBytes) {
		if err := s.vacuum(ctx, now); err != nil {
			return done, err
		}
		done.Vacuumed = true
	}
	if now, err = s.Stats(ctx); err == nil {
		done.BytesAfter = now.SizeBytes
	}
	return done, err
}

// vacuumPays is true from a quarter of unused pages on.
//
// Implements S-145.
func vacuumPays(free, size int64) bool {
	return size > 0 && float64(free)/float64(size) >= vacuumShare
}

// fullTextTables are the indexes over messages that this file has.
func (s *Store) fullTextTables(ctx context.Context) (tables []string, err error) {
	err = s.read(ctx, func(*db.Queries) error {
		tables = nil
		rows, err := s.readers.QueryContext(ctx, `SELECT name FROM sqlite_schema
			WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%' AND name LIKE 'messages\_fts%' ESCAPE '\' ORDER BY name`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			tables = append(tables, name)
		}
		return rows.Err()
	})
	return tables, err
}

// mergeIndex merges an index completely, a step a transaction: a negative first step marks all of its segments for
// merging, and a step that changes nothing is the last.
func (s *Store) mergeIndex(ctx context.Context, table string, pages int) error {
	name := `"` + strings.ReplaceAll(table, `"`, `""`) + `"`
	for step := -pages; ; step = pages {
		var changed int64
		err := s.transact(ctx, RoutineBudget, nothing, func(ctx context.Context, tx *sql.Tx) error {
			var before, after int64
			if err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&before); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+name+"("+name+", rank) VALUES('merge', ?)", step); err != nil {
				return err
			}
			err := tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&after)
			changed = after - before
			return err
		})
		if err != nil {
			return err
		}
		if changed < 2 { // the statement itself counts as one
			return nil
		}
	}
}

// vacuum rewrites the file and empties the log, which then holds a copy of it.
func (s *Store) vacuum(ctx context.Context, now Stats) error {
	// The copy is built in a temporary file and goes through the log.
	if need, free := 2*(now.SizeBytes-now.FreeBytes), freeBytes(s.path); free < need {
		return fmt.Errorf("%s: rewriting it needs %d MB and %d MB are free: %w", s.path, need>>20, free>>20, unix.ENOSPC)
	}
	return s.exclusively(ctx, func(ctx context.Context) error {
		if _, err := s.writer.ExecContext(ctx, "VACUUM"); err != nil {
			return fmt.Errorf("vacuum: %w", err)
		}
		_, err := s.checkpoint(ctx)
		return err
	})
}

// Checkpoint is how far the write-ahead log could be written back.
type Checkpoint struct {
	// Frames is the length of the log in pages and Done how many of them are in the database. Both are zero once
	// the log was emptied, and -1 without a log.
	Frames, Done int64
	// Blocked is true when a reader or another process kept the log from being emptied.
	Blocked bool
}

// Checkpoint writes the log back into the database and empties it. It waits for readers as long as SQLite does by
// itself, then does what it can.
func (s *Store) Checkpoint(ctx context.Context) (done Checkpoint, err error) {
	err = s.exclusively(ctx, func(ctx context.Context) error {
		done, err = s.checkpoint(ctx)
		return err
	})
	return done, err
}

func (s *Store) checkpoint(ctx context.Context) (c Checkpoint, err error) {
	row := s.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := row.Scan(&c.Blocked, &c.Frames, &c.Done); err != nil {
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	return c, nil
}

// exclusively runs a statement that must stand outside a transaction on the write connection, under the same guards
// as a write.
func (s *Store) exclusively(ctx context.Context, op func(context.Context) error) error {
	if err := s.admit(ctx, RoutineBudget); err != nil {
		return err
	}
	defer func() { <-s.gate }()
	if err := s.patiently(ctx, RoutineBudget, func() error { return op(ctx) }); err != nil {
		return s.judge(ctx, err)
	}
	return nil
}

// freeBytes is what an ordinary user may still write beside path; everything when that cannot be told.
func freeBytes(path string) int64 {
	var stat unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &stat); err != nil {
		return math.MaxInt64
	}
	return int64(min(stat.Bavail*uint64(stat.Bsize), math.MaxInt64))
}

// nothing is for transactions that prepare no statements.
func nothing() error { return nil }
