package cron

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	_ "modernc.org/sqlite" // registers the driver
)

// ExecutionStatus is how far an execution is. All but the first two are terminal and never change again.
type ExecutionStatus string

const (
	// ExecutionClaimed was handed out and has not begun.
	ExecutionClaimed ExecutionStatus = "claimed"
	// ExecutionRunning has begun.
	ExecutionRunning ExecutionStatus = "running"
	// ExecutionCompleted ended well.
	ExecutionCompleted ExecutionStatus = "completed"
	// ExecutionFailed ended with an error.
	ExecutionFailed ExecutionStatus = "failed"
	// ExecutionUnknown ended with its process.
	ExecutionUnknown ExecutionStatus = "unknown"
	// ExecutionSkipped was not run, for the reason in its error.
	ExecutionSkipped ExecutionStatus = "skipped"
)

const (
	// keptExecutions is how many terminal rows are kept.
	keptExecutions = 1000
	// ledgerLayout is UTC with microseconds: fixed in width, so that order as text is order in time.
	ledgerLayout = "2006-01-02T15:04:05.000000Z"
)

// Execution is one row of the ledger (C-160).
type Execution struct {
	ID, JobID, Source string
	Status            ExecutionStatus
	PID               int
	ClaimedAt         time.Time
	StartedAt         time.Time
	FinishedAt        time.Time
	Error             string
	DeliveryOutcome   string
	// Scheduled is the occurrence that the execution uses up, zero for none.
	Scheduled time.Time
	// Lateness and Late say how the execution compared with its time.
	Lateness Lateness
	Late     time.Duration
}

const ledgerSchema = `
CREATE TABLE IF NOT EXISTS executions (
	id TEXT PRIMARY KEY,
	job_id TEXT NOT NULL,
	source TEXT NOT NULL,
	process_id TEXT NOT NULL,
	pid INTEGER NOT NULL,
	process_started_at INTEGER NOT NULL,
	status TEXT NOT NULL,
	handoff_pending INTEGER NOT NULL DEFAULT 0,
	handoff_started_at TEXT,
	claimed_at TEXT NOT NULL,
	started_at TEXT,
	finished_at TEXT,
	error TEXT NOT NULL DEFAULT '',
	delivery_outcome TEXT NOT NULL DEFAULT '',
	scheduled_instant TEXT,
	lateness TEXT NOT NULL DEFAULT '',
	late_seconds INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS executions_by_job ON executions (job_id, scheduled_instant);
CREATE INDEX IF NOT EXISTS executions_by_status ON executions (status, finished_at);
CREATE TABLE IF NOT EXISTS incidents (
	job_id TEXT NOT NULL,
	signature TEXT NOT NULL,
	opened_at TEXT NOT NULL,
	alerted_at TEXT NOT NULL,
	seen INTEGER NOT NULL DEFAULT 1,
	acknowledged INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id, signature)
);`

// ledger is cron/executions.db. It is opened by the first run and not before: a profile without runs has none.
type ledger struct {
	path      string
	owner     Owner
	clock     clock.PassiveClock
	processID string

	mu   sync.Mutex
	open *sql.DB
	ends atomic.Int64 // ends since the start, to prune now and then
}

func (l *ledger) exists() bool {
	_, err := os.Stat(l.path)
	return err == nil
}

// db returns the open ledger. Transactions begin immediate, so that a conflict shows at the start.
func (l *ledger) db(ctx context.Context) (*sql.DB, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		return l.open, nil
	}
	if err := makeDir(filepath.Dir(l.path)); err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode) // SQLite would make it 0644
	if err == nil {
		err = file.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-64)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: l.path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, ledgerSchema); err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %s: %w", l.path, err), db.Close())
	}
	l.open = db
	return db, nil
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil
	}
	db := l.open
	l.open = nil
	return db.Close()
}

func (l *ledger) stamp() string { return l.clock.Now().UTC().Format(ledgerLayout) }

func instantText(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.UTC().Format(ledgerLayout)
}

// begin adds a claimed execution and returns its id.
func (l *ledger) begin(ctx context.Context, f firing, source string) (string, error) {
	db, err := l.db(ctx)
	if err != nil {
		return "", err
	}
	id := newAcquisition()
	var scheduled any
	if f.kind != Manual {
		scheduled = instantText(f.slot.Time)
	}
	_, err = db.ExecContext(ctx, `INSERT INTO executions (id, job_id, source, process_id, pid, process_started_at, status,
		claimed_at, scheduled_instant, lateness, late_seconds) VALUES (?,?,?,?,?,?,?,?,?,?,?)`,
		id, f.id, source, l.processID, l.owner.PID, l.owner.StartedAt, ExecutionClaimed, l.stamp(), scheduled, f.kind, int64(f.late/time.Second))
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	return id, nil
}

// transition moves an execution of this process from one status to another.
//
// Implements the guard of C-161.
func (l *ledger) transition(ctx context.Context, id string, from ExecutionStatus, assign string, args ...any) error {
	db, err := l.db(ctx)
	if err != nil {
		return err
	}
	args = append(args, id, from, l.processID, l.owner.PID)
	result, err := db.ExecContext(ctx, `UPDATE executions SET `+assign+` WHERE id=? AND status=? AND process_id=? AND pid=?`, args...)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(fmt.Errorf("ledger: execution %s is not %s by this process any more", id, from), err)
	}
	return nil
}

func (l *ledger) start(ctx context.Context, id string) error {
	return l.transition(ctx, id, ExecutionClaimed, "status=?, started_at=?", ExecutionRunning, l.stamp())
}

// finish ends an execution.
func (l *ledger) finish(ctx context.Context, id string, from, to ExecutionStatus, problem, delivery string) error {
	err := l.transition(ctx, id, from, "status=?, finished_at=?, error=?, delivery_outcome=?, handoff_pending=0", to, l.stamp(), problem, delivery)
	return errors.Join(err, l.tidy(ctx))
}

// interrupt ends an execution of this process that was cut off, whether it had begun or was about to.
func (l *ledger) interrupt(ctx context.Context, id, problem string) error {
	if err := l.finish(ctx, id, ExecutionRunning, ExecutionFailed, problem, ""); err == nil {
		return nil
	}
	return l.finish(ctx, id, ExecutionClaimed, ExecutionFailed, problem, "")
}

// ended reports whether an execution has reached its end, whoever wrote it.
func (l *ledger) ended(ctx context.Context, id string) bool {
	db, err := l.db(ctx)
	if err != nil || id == "" {
		return false
	}
	var n int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM executions WHERE id=? AND status NOT IN ('claimed','running')`, id).Scan(&n)
	return err == nil && n > 0
}

// skip records an occurrence that is not run, with the reason.
func (l *ledger) skip(ctx context.Context, jobID string, d Dispatch) error {
	db, err := l.db(ctx)
	if err != nil {
		return err
	}
	now := l.stamp()
	_, err = db.ExecContext(ctx, `INSERT INTO executions (id, job_id, source, process_id, pid, process_started_at, status, claimed_at,
		finished_at, error, scheduled_instant, lateness, late_seconds) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		newAcquisition(), jobID, sourceTick, l.processID, l.owner.PID, l.owner.StartedAt, ExecutionSkipped, now,
		now, d.Reason, instantText(d.ScheduledAt.Time), Skipped, d.LatenessSeconds)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return l.tidy(ctx)
}

// tidy prunes with the first end and every 32nd after it.
func (l *ledger) tidy(ctx context.Context) error {
	if l.ends.Add(1)%32 != 1 {
		return nil
	}
	return l.prune(ctx)
}

// prune keeps the newest terminal rows. Active rows are never touched.
func (l *ledger) prune(ctx context.Context) error {
	db, err := l.db(ctx)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `DELETE FROM executions WHERE status NOT IN ('claimed','running') AND finished_at < (
		SELECT finished_at FROM executions WHERE status NOT IN ('claimed','running') ORDER BY finished_at DESC LIMIT 1 OFFSET ?)`, keptExecutions-1); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// done reports whether the occurrence was run to the end: a completed row that finished no earlier than a minute before
// it. A ledger that cannot be read proves nothing.
//
// Implements C-154.
func (l *ledger) done(ctx context.Context, jobID string, occurrence time.Time) bool {
	if !l.exists() {
		return false
	}
	db, err := l.db(ctx)
	if err != nil {
		return false
	}
	var n int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM executions WHERE job_id=? AND scheduled_instant=? AND status=? AND finished_at>=?`,
		jobID, instantText(occurrence), ExecutionCompleted, instantText(occurrence.Add(-earlyFire))).Scan(&n)
	return err == nil && n > 0
}
