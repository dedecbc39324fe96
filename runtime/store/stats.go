package store

import (
	"context"
	"os"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// Stats is what a profile's status says about its store.
type Stats struct {
	SchemaVersion int64
	// SizeBytes is the database's size by SQLite's own page count, FreeBytes the part of it that is unused and
	// WALBytes the size of the write-ahead log.
	SizeBytes, FreeBytes, WALBytes int64
	// JournalMode is the mode in effect, which may differ from the one asked for.
	JournalMode string
	Sessions    int64
	// LastActivity is the newest activity of any session, zero when there is none.
	LastActivity time.Time
	// Damage is why the store no longer writes, nil while it does.
	Damage error
}

// VacuumPays is true when an optimisation would rewrite the file.
func (s Stats) VacuumPays() bool { return vacuumPays(s.FreeBytes, s.SizeBytes) }

// Stats reads the store's figures. It never opens the file itself (S-133).
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	stats := Stats{Damage: s.refusal()}
	var pageSize, pages, free int64
	err := s.read(ctx, func(q *db.Queries) error {
		for query, into := range map[string]any{
			"PRAGMA page_size":                        &pageSize,
			"PRAGMA page_count":                       &pages,
			"PRAGMA freelist_count":                   &free,
			"PRAGMA journal_mode":                     &stats.JournalMode,
			"SELECT MAX(version) FROM schema_version": &stats.SchemaVersion,
		} {
			if err := s.readers.QueryRowContext(ctx, query).Scan(into); err != nil {
				return err
			}
		}
		totals, err := q.SessionTotals(ctx)
		if err != nil {
			return err
		}
		stats.Sessions = totals.Sessions
		if totals.Sessions > 0 {
			stats.LastActivity = fromEpoch(totals.LastActivity)
		}
		return nil
	})
	if err != nil {
		return Stats{}, err
	}
	// Readers see whether the file is in WAL mode; which rollback mode is in use only the writer knows.
	if stats.JournalMode != "wal" && s.journalMode != "wal" && !s.readOnly {
		stats.JournalMode = s.journalMode
	}
	stats.SizeBytes, stats.FreeBytes = pages*pageSize, free*pageSize
	if info, err := os.Stat(s.path + "-wal"); err == nil {
		stats.WALBytes = info.Size()
	}
	return stats, nil
}
