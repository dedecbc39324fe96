package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/internal/regular"
)

// CopyForeign copies the session store of another program to a new single file, and never changes the source or anything
// beside it. A store that nobody has open is copied with its write-ahead log, which is then taken in on the copy; one that
// is in use is copied by SQLite, under the locks both programs know. live says which.
//
// Call it in a process that does not have the source open as a Store: this opens and closes the file (rule S-133).
func CopyForeign(ctx context.Context, from, to string) (live bool, err error) {
	if err := unlessShaped(from); err != nil {
		return false, fmt.Errorf("copy store: %w", err)
	}
	if _, err := os.Stat(to); err == nil {
		return false, fmt.Errorf("copy store: %s: %w", to, fs.ErrExist)
	}
	live, err = inUse(from)
	if err != nil {
		return false, fmt.Errorf("copy store: %w", err)
	}
	if live {
		return true, CopyDatabase(ctx, from, to)
	}
	before := stamps(from)
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := copyFile(from+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return false, fmt.Errorf("copy store: %w", err)
		}
	}
	// Somebody may have opened it meanwhile: then the copy is of two moments.
	if live, err = inUse(from); err != nil || live || stamps(from) != before {
		err = errors.Join(err, removeCopy(to))
		if err != nil {
			return false, fmt.Errorf("copy store: %w", err)
		}
		return true, CopyDatabase(ctx, from, to)
	}
	return false, settleCopy(ctx, to)
}

// inUse says whether another process has the database open: it then holds SQLite's shared lock on the file, or, with a
// write-ahead log, one of the locks in -shm. Nothing is locked to find out.
func inUse(path string) (bool, error) {
	for name, at := range map[string]struct{ start, length int64 }{
		path:          {sharedLockByte - 2, 512}, // pending, reserved and shared
		path + "-shm": {120, 9},
	} {
		file, err := regular.Open(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return false, err
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at.start, Len: at.length}
		err = errors.Join(unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock), file.Close())
		if err != nil {
			return false, err
		}
		if lock.Type != unix.F_UNLCK {
			return true, nil
		}
	}
	return false, nil
}

// stamps is what changes when somebody writes to a store.
func stamps(path string) (out [2]struct {
	size, mtime int64
	id          fileID
}) {
	for i, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			out[i].size, out[i].mtime, out[i].id = info.Size(), info.ModTime().UnixNano(), identify(path+suffix)
		}
	}
	return out
}

func copyFile(from, to string) error {
	in, err := regular.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return explainFull(to, errors.Join(err, out.Close()))
}

func removeCopy(path string) error {
	var errs []error
	for _, suffix := range append([]string{""}, sidecars...) {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// settleCopy takes the log into the copy, so that it is one file.
func settleCopy(ctx context.Context, path string) error {
	pool, err := openDB(path, 1, url.Values{"_pragma": {busyTimeout(engineTimeout)}})
	if err != nil {
		return err
	}
	var mode string
	err = pool.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	if err := errors.Join(err, pool.Close()); err != nil {
		if structuralDamage(err) {
			return fmt.Errorf("%s: %w (%w)", filepath.Base(path), ErrCorrupt, err)
		}
		return fmt.Errorf("take in the log of a copied store: %w", explainFull(path, err))
	}
	return nil
}

// openImport opens a settled copy for reading; nobody else has it.
func openImport(path string) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if err := unlessShaped(path); err != nil {
		return nil, err
	}
	return openDB(path, 2, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_pragma": {"query_only(1)"}})
}
