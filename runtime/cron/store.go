package cron

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// lockPatience is how long the store's lock and a job's fence are waited for.
	lockPatience = 30 * time.Second

	// saveRounds bounds how often a change is worked out anew because the file changed under it.
	saveRounds = 5
)

// Options are what a store needs of its surroundings.
type Options struct {
	// Clock tells the time; nil is the real one.
	Clock clock.WithTicker
	Log   logr.Logger
	// Settings returns the profile's settings as they are now; nil is [DefaultSettings].
	Settings func() Settings
	// Owner identifies this process in claims.
	Owner Owner
	// LockPatience replaces the 30 s for which a lock is waited for; 0 is 30 s.
	LockPatience time.Duration
}

// Store is a profile's job store and ledger: everything in <home>/cron. It is safe for concurrent use, and safe against
// other processes on the same files.
type Store struct {
	dir     string
	options Options

	mu     sync.Mutex // guards what follows and orders this process's changes
	cache  jobCache
	ledger *ledger
	live   map[string]bool // claims this process holds, by owner text
}

// Open returns the store in home/cron. It touches no file: a home without jobs costs nothing until the first job.
//
// Implements C-101.
func Open(home string, o Options) (*Store, error) {
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("cron store: home %q is not absolute", home)
	}
	if o.Owner.PID < 1 || o.Owner.Host == "" {
		return nil, errors.New("cron store: the owner needs a host and a pid")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Settings == nil {
		o.Settings = DefaultSettings
	}
	if o.LockPatience == 0 {
		o.LockPatience = lockPatience
	}
	s := &Store{dir: filepath.Join(home, "cron"), options: o, live: map[string]bool{}}
	s.ledger = &ledger{path: filepath.Join(s.dir, "executions.db"), owner: o.Owner, clock: o.Clock, processID: newAcquisition()}
	return s, nil
}

// Close closes the ledger.
func (s *Store) Close() error { return s.ledger.close() }

// Dir returns the directory that holds the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) inDir(name string) string { return filepath.Join(s.dir, name) }

func (s *Store) now() time.Time { return s.options.Clock.Now() }

func (s *Store) settings() Settings {
	settings := s.options.Settings()
	if settings.Zone == nil {
		settings.Zone = time.UTC
	}
	return settings
}

// tx is one change of the job file being worked out. The function that works it out may run several times and must have
// no effect but on its tx.
type tx struct {
	cache   *jobCache
	changed map[string]Job
	removed map[string]bool
	added   []string
}

// get returns the job as it would be saved.
func (t *tx) get(id string) (Job, bool) {
	if t.removed[id] {
		return Job{}, false
	}
	if job, ok := t.changed[id]; ok {
		return job.Clone(), true
	}
	if e, ok := t.cache.entries[id]; ok {
		return e.job.Clone(), true
	}
	return Job{}, false
}

func (t *tx) put(job Job) {
	if _, known := t.cache.entries[job.ID]; !known {
		if _, known := t.changed[job.ID]; !known {
			t.added = append(t.added, job.ID)
		}
	}
	delete(t.removed, job.ID)
	t.changed[job.ID] = job
}

func (t *tx) remove(id string) {
	delete(t.changed, id)
	t.removed[id] = true
}

var errMoved = errors.New("the job file changed while it was being saved")

// update works out a change under the store's lock and saves it. When a writer without the lock gets in between, the
// change is worked out anew from what that writer left, so neither loses anything and only what is named is removed.
//
// Implements C-104, C-105.
func (s *Store) update(ctx context.Context, change func(*tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := makeDir(s.dir); err != nil {
		return fmt.Errorf("cron store: %w", err)
	}
	release, err := fileLock(ctx, s.inDir(".jobs.lock"), s.options.LockPatience)
	switch {
	case err == nil:
		defer release()
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		// One wedged process must not stop every cron call of the host. The guard below still notices its writes.
		s.options.Log.Error(err, "the job file's lock is not to be had: going on without it", "waited", s.options.LockPatience.String())
	}
	for range saveRounds {
		if err := s.load(); err != nil {
			return err
		}
		t := &tx{cache: &s.cache, changed: map[string]Job{}, removed: map[string]bool{}}
		if err := change(t); err != nil {
			return err
		}
		if len(t.changed) == 0 && len(t.removed) == 0 && !s.cache.repaired {
			return nil
		}
		if err := s.save(t); !errors.Is(err, errMoved) {
			return err
		}
	}
	return fmt.Errorf("%s: %w, %d times in a row: another program writes it without the lock", s.inDir(jobsFile), errMoved, saveRounds)
}

const jobsFile = "jobs.json"

// load brings the cache up to date with the file. It costs one stat when nothing changed.
func (s *Store) load() error {
	path := s.inDir(jobsFile)
	found, err := stampFile(path)
	if err != nil {
		return fmt.Errorf("cron store: %w", err)
	}
	if s.cache.loaded && found == s.cache.stamp {
		return nil
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		s.cache.reset(rawFile{}, nil)
		s.cache.stamp = stamp{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("cron store: %w", err)
	}
	file, err := splitFile(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, note := range s.cache.reset(file, s.settingsForWake) {
		s.options.Log.Info("job file repaired", "file", path, "what", note)
	}
	// The stamp is from before the reading: a write in between is read again next time.
	s.cache.stamp = found
	return nil
}

func (s *Store) settingsForWake() wakeSettings {
	settings := s.settings()
	return wakeSettings{zone: settings.Zone, retention: settings.CompletedRetentionDays}
}

func (s *Store) save(t *tx) error {
	records, changed, err := s.cache.stage(t)
	if err != nil {
		return err
	}
	path := s.inDir(jobsFile)
	written, err := replaceFile(path, encodeFile(records, s.now()), func() error {
		if found, err := stampFile(path); err != nil || found != s.cache.stamp {
			return errors.Join(errMoved, err)
		}
		return nil
	})
	if errors.Is(err, errMoved) {
		return errMoved
	}
	if err != nil {
		s.cache.loaded = false
		return fmt.Errorf("save %s: %w", path, err)
	}
	s.cache.apply(t, changed, s.settingsForWake())
	s.cache.stamp = written
	return nil
}

// Jobs returns all jobs in the order of the file.
func (s *Store) Jobs() ([]Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, err
	}
	jobs := make([]Job, 0, len(s.cache.order))
	for _, id := range s.cache.order {
		jobs = append(jobs, s.cache.entries[id].job.Clone())
	}
	return jobs, nil
}
