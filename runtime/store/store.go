package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"modernc.org/sqlite"

	"hermes.dev/hermes/internal/regular"
	"hermes.dev/hermes/runtime/store/db"
)

// Options are how a store is opened. The zero value is a writable store in WAL mode.
type Options struct {
	Log logr.Logger
	// Clock stamps rows that carry no time of their own. Default: the real clock.
	Clock clock.PassiveClock
	// ReadOnly opens an existing store without ever writing to it. Readers share it; a writer excludes them.
	ReadOnly bool
	// JournalMode is WAL (default), DELETE, TRUNCATE or PERSIST.
	JournalMode string
	// Synchronous is NORMAL (default) or FULL; see the package comment on durability.
	Synchronous string
	// Inventory is shared by the stores of a process; nil looks anew for this store.
	Inventory *Inventory
}

// Store is one open session store. Its methods are safe for concurrent use; writes queue behind each other.
type Store struct {
	path     string
	log      logr.Logger
	clock    clock.PassiveClock
	readOnly bool

	lock    *fileLock
	writer  *sql.DB // nil when read-only
	readers *sql.DB
	queries *db.Queries // reads, on readers

	gate   chan struct{} // holds one token: the right to use writer
	writes int           // successful write transactions; guarded by gate
	hot    prepared      // compiled by the first write; guarded by gate
	guard  guard         // set once by Open
	header headerWatch   // guarded by gate

	journalMode string // in effect on writer; set once by Open

	closed atomic.Bool
	damage atomic.Pointer[error]
	pin    *sql.Conn // see quarantine; guarded by gate

	indexer indexer

	sleep  func(context.Context, time.Duration) error
	random func() float64
}

// Open opens the store at path, creating it and bringing an older schema up to SchemaVersion unless read-only.
//
// Errors: ErrStoreBusy (with the owner's pid) when another process or Store has it; ErrSchema when the file is newer
// or not a session store; ErrCorrupt when it is damaged, in which case it is left exactly as it is; ErrContended
// when SQLite's own lock was held beyond OpenBudget; ErrDeletedWAL when a process holds a deleted generation of its
// log; fs.ErrNotExist for a missing file read-only or a missing
// directory.
//
// Implements S-105, S-110, S-113 and S-130.
func Open(ctx context.Context, path string, o Options) (_ *Store, err error) {
	if path, err = o.complete(path); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("session store: %w", err)
		}
	}
	lock, err := acquireLock(path, o.ReadOnly)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, log: o.Log.WithValues("store", path), clock: o.Clock, readOnly: o.ReadOnly, lock: lock,
		gate: make(chan struct{}, 1), sleep: sleepContext, random: rand.Float64,
		indexer: indexer{pause: sleepContext},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.shut())
		}
	}()
	if err := checkShape(path); err != nil {
		return nil, s.openError(err)
	}
	if err := s.refuseRetired(o.Inventory); err != nil {
		return nil, err
	}
	if err := s.connect(o); err != nil {
		return nil, err
	}
	if err := s.bringUp(ctx); err != nil {
		return nil, err
	}
	if s.readOnly {
		s.guard = newGuard(path)
		return s, nil
	}
	if err := s.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&s.journalMode); err != nil {
		return nil, s.openError(err)
	}
	if !strings.EqualFold(s.journalMode, o.JournalMode) {
		s.log.Info("the filesystem does not allow the journal mode", "wanted", o.JournalMode, "used", s.journalMode)
	}
	s.guard = newGuard(path)
	var application int64
	if err := s.writer.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return nil, s.openError(err)
	}
	s.header.accepted = []uint32{uint32(application)}
	if err := s.prepareIndex(ctx); err != nil {
		return nil, s.openError(err)
	}
	s.log.V(1).Info("session store opened", "journalMode", s.journalMode, "locksVisible", s.guard.locks != heldLocks{})
	return s, nil
}

// complete fills in defaults and returns the absolute path.
func (o *Options) complete(path string) (string, error) {
	if path == "" {
		return "", errors.New("session store: no path given")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Inventory == nil {
		o.Inventory = NewInventory(o.Clock)
	}
	if o.JournalMode == "" {
		o.JournalMode = "WAL"
	}
	if o.Synchronous == "" {
		o.Synchronous = "NORMAL"
	}
	if mode := strings.ToUpper(o.Synchronous); mode != "NORMAL" && mode != "FULL" {
		return "", fmt.Errorf("synchronous %q: use NORMAL or FULL", o.Synchronous)
	}
	if err := checkJournalMode(o.JournalMode); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// refuseRetired keeps SQLite from minting a second log beside one that a process still writes. It runs under the store
// lock and before the first connection.
//
// Implements S-130.
func (s *Store) refuseRetired(inventory *Inventory) error {
	holders, err := inventory.Retired(s.path)
	if err != nil {
		s.log.Info("processes that hold a deleted log cannot be listed here", "cause", err.Error())
	}
	if len(holders) == 0 {
		return nil
	}
	refusal := &RetiredError{Path: s.path, Holders: holders, Opening: true}
	for _, h := range holders {
		warn(s.log, "a process holds a deleted log", "holder", h.String(), "files", h.Files)
	}
	return refusal
}

func (s *Store) connect(o Options) error {
	// Open-file-description locks survive a stray open and close of the database elsewhere in this process; POSIX
	// locks do not (rule S-133). The choice is process-wide and asking again for it is free.
	if _, err := sqlite.OFDLocking(true); err != nil {
		s.log.V(1).Info("database locks are POSIX locks", "cause", err.Error())
	}
	var err error
	if !o.ReadOnly {
		if err = ensurePrivate(s.path); err != nil {
			return err
		}
		if s.writer, err = openWriter(s.path, o); err != nil {
			return err
		}
	}
	if s.readers, err = openReaders(s.path); err != nil {
		return err
	}
	s.queries = db.New(s.readers)
	return nil
}

// bringUp makes the file one of this schema.
func (s *Store) bringUp(ctx context.Context) error {
	err := s.reconcileSchema(ctx)
	if err == nil && !s.readOnly {
		err = s.dropDeadLocks(ctx)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrContended) {
		s.warnOwners()
	}
	return s.openError(err)
}

// reconcileSchema compares the file with the wanted schema and applies what is missing in one transaction.
func (s *Store) reconcileSchema(ctx context.Context) error {
	tables, indexes := parseTables(schemaSQL), parseIndexes(indexesSQL)
	source, budget := s.writer, OpenBudget
	if s.readOnly {
		source, budget = s.readers, ReadBudget
	}
	var plan []string
	err := s.patiently(ctx, budget, func() error {
		live, err := readSchema(ctx, source, tables)
		if err != nil {
			return err
		}
		plan, err = planSchema(tables, indexes, live)
		return err
	})
	if err != nil || len(plan) == 0 {
		return err
	}
	if s.readOnly {
		return &SchemaError{Reason: "has an older schema: start its profile once, which brings it up to date"}
	}
	s.log.Info("updating session store schema", "version", SchemaVersion, "statements", len(plan))
	return s.transact(ctx, budget, nothing, func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range plan {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", firstLine(statement), err)
			}
		}
		return nil
	})
}

// openError adds what a person can do about a store that does not open.
func (s *Store) openError(err error) error {
	var schema *SchemaError
	switch {
	case errors.As(err, &schema):
		schema.Path = s.path
		return schema
	case errors.Is(err, regular.ErrNotRegular):
		return err
	case structuralDamage(err) || errors.Is(err, ErrCorrupt) || errors.Is(err, errTooShort):
		return fmt.Errorf("%s: %w and was left untouched: restore a backup over it, or move it away together with "+
			"its -wal and -shm files to start empty (%w)", s.path, ErrCorrupt, err)
	default:
		return fmt.Errorf("open %s: %w", s.path, explainFull(s.path, err))
	}
}

// Close waits for the write in progress and closes the store. Closing twice is harmless.
//
// A quarantined store is closed without the checkpoint that SQLite makes on closing; where that cannot be arranged
// it keeps its connection and its lock until the process ends (rule S-135).
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.stopIndexing()
	s.gate <- struct{}{}
	defer func() { <-s.gate }()
	return s.shut()
}

// shut closes in the order that decides who checkpoints: the last connection does. A read-only one cannot, so a
// quarantined store closes its writer first, under the pinned reader.
func (s *Store) shut() error {
	if s.damage.Load() == nil {
		return errors.Join(s.hot.close(), closePool(s.readers), closePool(s.writer), s.lock.release())
	}
	if s.pin == nil {
		s.log.Info("a quarantined session store stays attached until this process ends", "cause", s.refusal().Error())
		return nil
	}
	return errors.Join(s.hot.close(), closePool(s.writer), s.pin.Close(), closePool(s.readers), s.lock.release())
}

// Stuck is true when the handle writes no more and closing it would not let the files go: what was cut off from its
// paths lives only as long as this process has it open.
func (s *Store) Stuck() bool {
	err := s.refusal()
	return err != nil && !errors.Is(err, ErrCorrupt)
}

func closePool(pool *sql.DB) error {
	if pool == nil {
		return nil
	}
	return pool.Close()
}

// Path is the database file.
func (s *Store) Path() string { return s.path }

// refusal is why this handle does not write any more, nil while it does.
func (s *Store) refusal() error {
	if damage := s.damage.Load(); damage != nil {
		return *damage
	}
	return nil
}

func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
