package store

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

const (
	driverName = "sqlite"

	// writerCacheKiB and readerCacheKiB bound SQLite's page caches. A store is a short append log read in order;
	// hundreds of them are open in one process, and larger caches did not make a turn faster.
	writerCacheKiB = 64
	readerCacheKiB = 32

	// walLimitBytes is what the write-ahead log is cut back to after a checkpoint has emptied it.
	walLimitBytes = 4 << 20

	// readerIdle is how long an unused read connection keeps its memory.
	readerIdle = 2 * time.Second
)

// sidecars are the files SQLite keeps beside the database.
var sidecars = []string{"-wal", "-shm", "-journal"}

// openWriter returns the one write connection. Its transactions begin immediate, so that a lock conflict shows at
// the start and not in the middle (rule S-111).
func openWriter(path string, o Options) (*sql.DB, error) {
	return openDB(path, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			busyTimeout(engineTimeout),
			"journal_mode(" + o.JournalMode + ")",
			"synchronous(" + o.Synchronous + ")",
			"foreign_keys(1)",
			"cache_size(-" + strconv.Itoa(writerCacheKiB) + ")",
			"journal_size_limit(" + strconv.Itoa(walLimitBytes) + ")",
		},
	})
}

// openReaders returns up to two read connections, made on first use and closed after a while without any.
func openReaders(path string) (*sql.DB, error) {
	readers, err := openDB(path, 2, url.Values{
		"mode": {"ro"},
		"_pragma": {
			busyTimeout(engineTimeout),
			"query_only(1)",
			"cache_size(-" + strconv.Itoa(readerCacheKiB) + ")",
		},
	})
	if err == nil {
		readers.SetConnMaxIdleTime(readerIdle)
	}
	return readers, err
}

func openDB(path string, conns int, query url.Values) (*sql.DB, error) {
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String()
	pool, err := sql.Open(driverName, name)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(1)
	return pool, nil
}

func busyTimeout(d time.Duration) string { return fmt.Sprintf("busy_timeout(%d)", d.Milliseconds()) }

// ensurePrivate creates the database file when there is none and makes it and its sidecars owner-only whatever the
// umask; SQLite gives new sidecars the mode of the database. It runs under the store lock and before the first
// connection: the only moment at which the file may be touched by anything but SQLite.
//
// Implements S-105.
func ensurePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		return errors.Join(file.Chmod(0o600), file.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("session store: %w", err)
	}
	for _, suffix := range append([]string{""}, sidecars...) {
		info, err := os.Stat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("session store: %w", err)
		}
		if info.Mode().Perm() == 0o600 {
			continue
		}
		if err := os.Chmod(path+suffix, 0o600); err != nil {
			return fmt.Errorf("session store: %w", err)
		}
	}
	return nil
}

// checkJournalMode refuses a mode that would leave the store without crash safety.
func checkJournalMode(mode string) error {
	switch strings.ToUpper(mode) {
	case "WAL", "DELETE", "TRUNCATE", "PERSIST":
		return nil
	}
	return fmt.Errorf("journal mode %q: use WAL, or DELETE, TRUNCATE or PERSIST on a filesystem that cannot share memory", mode)
}
