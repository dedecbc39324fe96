package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"

	"modernc.org/sqlite"
)

// Figures are what a snapshot holds.
type Figures struct {
	// SchemaVersion of the file, 0 when it records none.
	SchemaVersion int64 `json:"schemaVersion"`
	Sessions      int64 `json:"sessions"`
	Messages      int64 `json:"messages"`
}

// Snapshot writes a copy of the open store, as of one moment, to a new file at path (mode 0600): one file without
// sidecars that Check can open. SQLite makes the copy in one read transaction on a connection of its own, so turns
// go on writing meanwhile. On an error nothing is left at path.
//
// Errors: fs.ErrExist when something is at path; syscall.ENOSPC when there is no room; ErrCorrupt; the cause that
// quarantined this handle, because a copy of a store that is not trusted would count as a good one.
//
// Implements S-133 for copies: the database is never opened with anything but SQLite.
func (s *Store) Snapshot(ctx context.Context, path string) (err error) {
	if s.closed.Load() {
		return ErrClosed
	}
	if err := s.refusal(); err != nil {
		return err
	}
	if err := s.guard.checkFiles(); err != nil {
		return err
	}
	// VACUUM INTO takes a new or an empty file; made here, it is never readable by others.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	if err := file.Close(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := vacuumInto(ctx, s.path, path); err != nil {
		return snapshotError(ctx, s.path, path, err)
	}
	return syncFile(path)
}

// CopyDatabase is Snapshot for a store file that this process does not have open as a Store: another program's, which may
// be at work on it. It needs SQLite's shared memory beside the file or the right to make it.
func CopyDatabase(ctx context.Context, from, to string) error {
	if err := vacuumInto(ctx, from, to); err != nil {
		return snapshotError(ctx, from, to, err)
	}
	return syncFile(to)
}

func vacuumInto(ctx context.Context, from, to string) error {
	pool, err := openDB(from, 1, url.Values{"mode": {"ro"}, "_pragma": {busyTimeout(engineTimeout)}})
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, "VACUUM INTO ?", to)
	return errors.Join(err, pool.Close())
}

func snapshotError(ctx context.Context, from, to string, err error) error {
	var engine *sqlite.Error
	switch {
	case context.Cause(ctx) != nil:
		return fmt.Errorf("snapshot of %s: %w", from, context.Cause(ctx))
	case errors.As(err, &engine) && engine.Code()&0xff == codeFull:
		return fmt.Errorf("%s: %w (%w)", to, syscall.ENOSPC, err)
	case structuralDamage(err):
		return fmt.Errorf("%s: %w (%w)", from, ErrCorrupt, err)
	}
	return fmt.Errorf("snapshot of %s: %w", from, err)
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// Check says whether a file that nobody has open is a sound store that this program can serve, and what it holds. It
// reads the whole file and writes nothing, also not beside it.
//
// Errors: ErrCorrupt when SQLite's integrity check finds anything; ErrSchema when the file is newer than SchemaVersion or
// no session store; fs.ErrExist when a log beside it says that the file alone is not the whole store.
func Check(ctx context.Context, path string) (Figures, error) {
	for _, suffix := range sidecars {
		if info, err := os.Stat(path + suffix); err == nil && info.Size() > 0 && suffix != "-shm" {
			return Figures{}, fmt.Errorf("%s%s: %w: the file beside it is not the whole store", path, suffix, os.ErrExist)
		}
	}
	if _, err := os.Stat(path); err != nil {
		return Figures{}, fmt.Errorf("check store: %w", err)
	}
	if err := unlessShaped(path); err != nil {
		return Figures{}, err
	}
	pool, err := openDB(path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_pragma": {"query_only(1)"}})
	if err != nil {
		return Figures{}, err
	}
	figures, err := check(ctx, pool)
	err = errors.Join(err, pool.Close())
	var schema *SchemaError
	switch {
	case err == nil:
		return figures, nil
	case errors.As(err, &schema):
		schema.Path = path
		return Figures{}, schema
	case structuralDamage(err) || errors.Is(err, ErrCorrupt):
		return Figures{}, fmt.Errorf("%s: %w (%w)", path, ErrCorrupt, err)
	}
	return Figures{}, fmt.Errorf("check %s: %w", path, err)
}

func check(ctx context.Context, pool *sql.DB) (Figures, error) {
	live, err := readSchema(ctx, pool, parseTables(schemaSQL))
	if err != nil {
		return Figures{}, err
	}
	if _, err := planSchema(parseTables(schemaSQL), parseIndexes(indexesSQL), live); err != nil {
		return Figures{}, err
	}
	if live.columns["sessions"] == nil || live.columns["messages"] == nil {
		return Figures{}, &SchemaError{Version: live.version, Reason: "holds no sessions: it is not a session store"}
	}
	if err := checkIntegrity(ctx, pool); err != nil {
		return Figures{}, err
	}
	figures := Figures{SchemaVersion: live.version}
	err = pool.QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM sessions), (SELECT COUNT(*) FROM messages)").
		Scan(&figures.Sessions, &figures.Messages)
	return figures, err
}

// checkIntegrity is ErrCorrupt with the first findings of SQLite's own check of every page and index.
func checkIntegrity(ctx context.Context, pool *sql.DB) error {
	rows, err := pool.QueryContext(ctx, "PRAGMA integrity_check(5)")
	if err != nil {
		return err
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		if line != "ok" {
			found = append(found, line)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %s", ErrCorrupt, strings.Join(found, "; "))
	}
	return nil
}

// Claim takes the lock of the store at path without opening it, for whoever replaces the file. While it is held no
// process of this program opens the store. Held by another, the error is a *BusyError.
func Claim(path string) (release func() error, err error) {
	lock, err := acquireLock(path, false)
	if err != nil {
		return nil, err
	}
	return lock.release, nil
}
