package cron

import (
	"context"
	"fmt"
	"time"
)

const (
	// handoffPatience is how long recovery leaves a run alone that is being handed to another process.
	handoffPatience = 30 * time.Second
	// recoveryFloor is the least age at which a run of a living process counts as lost.
	recoveryFloor = 7200 * time.Second
)

// activeRow is a row of the ledger that is not terminal.
type activeRow struct {
	id, processID   string
	pid             int
	startedAt       int64
	handoff         bool
	handoffAt, from time.Time
}

// lostRow says why nobody will ever finish a row, empty when somebody may. A start time that cannot be read is no proof of
// death, and with no bound on inactivity a living owner's run is never too old.
//
// Implements C-162.
func lostRow(r activeRow, o Owner, own string, now time.Time, s Settings) string {
	if r.processID == own {
		return ""
	}
	if r.handoff && now.Sub(r.handoffAt) < handoffPatience {
		return ""
	}
	if o.Life != nil && o.Life(r.pid, r.startedAt) == LifeDead {
		return fmt.Sprintf("its process %d ended before the run did", r.pid)
	}
	limit := max(3*s.Inactivity, s.ScriptTimeout, recoveryFloor)
	if age := now.Sub(r.from); s.Inactivity > 0 && age > limit {
		return fmt.Sprintf("no end was recorded for %s", age.Round(time.Second))
	}
	return ""
}

// recover marks what nobody will finish as unknown. It never runs anything again.
//
// Implements C-162, T-149.
func (l *ledger) recover(ctx context.Context, s Settings) (int, error) {
	if !l.exists() {
		return 0, nil
	}
	rows, err := l.active(ctx)
	if err != nil {
		return 0, err
	}
	db, err := l.db(ctx)
	if err != nil {
		return 0, err
	}
	now, marked := l.clock.Now(), 0
	for _, r := range rows {
		reason := lostRow(r, l.owner, l.processID, now, s)
		if reason == "" {
			continue
		}
		result, err := db.ExecContext(ctx, `UPDATE executions SET status=?, finished_at=?, error=? WHERE id=? AND process_id=? AND status IN ('claimed','running')`,
			ExecutionUnknown, l.stamp(), reason, r.id, r.processID)
		if err != nil {
			return marked, fmt.Errorf("ledger: %w", err)
		}
		n, _ := result.RowsAffected()
		marked += int(n)
	}
	return marked, nil
}

func (l *ledger) active(ctx context.Context) ([]activeRow, error) {
	db, err := l.db(ctx)
	if err != nil {
		return nil, err
	}
	found, err := db.QueryContext(ctx, `SELECT id, process_id, pid, process_started_at, handoff_pending, coalesce(handoff_started_at,''),
		coalesce(started_at, claimed_at) FROM executions WHERE status IN ('claimed','running')`)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { _ = found.Close() }()
	var rows []activeRow
	for found.Next() {
		var r activeRow
		var handoffAt, from string
		if err := found.Scan(&r.id, &r.processID, &r.pid, &r.startedAt, &r.handoff, &handoffAt, &from); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		r.handoffAt, r.from = parseLedger(handoffAt), parseLedger(from)
		rows = append(rows, r)
	}
	return rows, found.Err()
}

func parseLedger(text string) time.Time {
	at, _ := time.Parse(ledgerLayout, text)
	return at
}

// Executions returns the newest rows of the ledger, newest first; jobID empty is all jobs. Order is by when they were
// handed out or skipped.
func (s *Store) Executions(ctx context.Context, jobID string, limit int) ([]Execution, error) {
	if !s.ledger.exists() {
		return nil, nil
	}
	db, err := s.ledger.db(ctx)
	if err != nil {
		return nil, err
	}
	found, err := db.QueryContext(ctx, `SELECT id, job_id, source, status, pid, claimed_at, coalesce(started_at,''), coalesce(finished_at,''), error,
		delivery_outcome, coalesce(scheduled_instant,''), lateness, late_seconds FROM executions WHERE ?='' OR job_id=? ORDER BY claimed_at DESC, rowid DESC LIMIT ?`,
		jobID, jobID, limit)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { _ = found.Close() }()
	var out []Execution
	for found.Next() {
		var e Execution
		var claimed, started, finished, scheduled string
		var late int64
		if err := found.Scan(&e.ID, &e.JobID, &e.Source, &e.Status, &e.PID, &claimed, &started, &finished, &e.Error,
			&e.DeliveryOutcome, &scheduled, &e.Lateness, &late); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		e.ClaimedAt, e.StartedAt, e.FinishedAt, e.Scheduled = parseLedger(claimed), parseLedger(started), parseLedger(finished), parseLedger(scheduled)
		e.Late = time.Duration(late) * time.Second
		out = append(out, e)
	}
	return out, found.Err()
}

// OfferHandoff lets another process take over an execution that was claimed and has not begun.
func (s *Store) OfferHandoff(ctx context.Context, executionID string) error {
	l := s.ledger
	return l.transition(ctx, executionID, ExecutionClaimed, "handoff_pending=1, handoff_started_at=?", l.stamp())
}

// AdoptHandoff takes over an execution that another process offers and starts it here. It is the only change of a row that
// another process owns.
//
// Implements C-161.
func (s *Store) AdoptHandoff(ctx context.Context, executionID string) error {
	l := s.ledger
	db, err := l.db(ctx)
	if err != nil {
		return err
	}
	result, err := db.ExecContext(ctx, `UPDATE executions SET status=?, started_at=?, process_id=?, pid=?, process_started_at=?, handoff_pending=0
		WHERE id=? AND status=? AND handoff_pending=1`, ExecutionRunning, l.stamp(), l.processID, l.owner.PID, l.owner.StartedAt, executionID, ExecutionClaimed)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("ledger: execution %s is not offered", executionID)
	}
	return nil
}
