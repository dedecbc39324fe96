package cron

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Incident is a failure of a job that is not over. It is known by its signature, so that the same failure is one incident
// however often it happens.
type Incident struct {
	JobID, Signature    string
	OpenedAt, AlertedAt time.Time
	// Seen counts the runs that ended with it.
	Seen int
	// Acknowledged silences it until the job succeeds.
	Acknowledged bool
}

var volatile = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9a-f]{8,}(?:-[0-9a-f]{4,})*\b|\d+`)

// signature is what stays the same when a failure repeats: no numbers, ids or addresses.
func signature(problem string) string {
	s := volatile.ReplaceAllString(strings.ToLower(problem), "#")
	s = strings.Join(strings.Fields(s), " ")
	return s[:min(len(s), 300)]
}

// tell reports whether a failure is told: a new one is, one that repeats is when the last telling is long enough ago, one
// that was acknowledged is not.
//
// Implements C-231.
func tell(known *Incident, now time.Time, repeat time.Duration) bool {
	switch {
	case known == nil:
		return true
	case known.Acknowledged:
		return false
	}
	return repeat <= 0 || now.Sub(known.AlertedAt) >= repeat
}

// fail records a failure and reports whether to tell of it. A ledger that cannot be used withholds nothing.
//
// Implements C-231, T-199.
func (l *ledger) fail(ctx context.Context, jobID, problem string, repeat time.Duration) (bool, error) {
	db, err := l.db(ctx)
	if err != nil {
		return true, err
	}
	sign, now := signature(problem), l.clock.Now()
	known := &Incident{}
	var alerted string
	err = db.QueryRowContext(ctx, `SELECT alerted_at, acknowledged FROM incidents WHERE job_id=? AND signature=?`, jobID, sign).Scan(&alerted, &known.Acknowledged)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		known = nil
	case err != nil:
		return true, fmt.Errorf("ledger: %w", err)
	default:
		known.AlertedAt = parseLedger(alerted)
	}
	told := tell(known, now, repeat)
	if told {
		alerted = l.stamp()
	}
	_, err = db.ExecContext(ctx, `INSERT INTO incidents (job_id, signature, opened_at, alerted_at) VALUES (?,?,?,?)
		ON CONFLICT (job_id, signature) DO UPDATE SET alerted_at=excluded.alerted_at, seen=seen+1`, jobID, sign, l.stamp(), alerted)
	if err != nil {
		return true, fmt.Errorf("ledger: %w", err)
	}
	return told, nil
}

// resolve ends a job's incidents.
func (l *ledger) resolve(ctx context.Context, jobID string) error {
	if !l.exists() {
		return nil
	}
	db, err := l.db(ctx)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `DELETE FROM incidents WHERE job_id=?`, jobID); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Incidents returns what is wrong now, newest first.
func (s *Store) Incidents(ctx context.Context) ([]Incident, error) {
	if !s.ledger.exists() {
		return nil, nil
	}
	db, err := s.ledger.db(ctx)
	if err != nil {
		return nil, err
	}
	found, err := db.QueryContext(ctx, `SELECT job_id, signature, opened_at, alerted_at, seen, acknowledged FROM incidents ORDER BY opened_at DESC`)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { _ = found.Close() }()
	var out []Incident
	for found.Next() {
		var i Incident
		var opened, alerted string
		if err := found.Scan(&i.JobID, &i.Signature, &opened, &alerted, &i.Seen, &i.Acknowledged); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		i.OpenedAt, i.AlertedAt = parseLedger(opened), parseLedger(alerted)
		out = append(out, i)
	}
	return out, found.Err()
}

// Acknowledge silences a job's open incidents until it succeeds.
func (s *Store) Acknowledge(ctx context.Context, ref string) (int, error) {
	job, err := s.Job(ref)
	if err != nil {
		return 0, err
	}
	db, err := s.ledger.db(ctx)
	if err != nil {
		return 0, err
	}
	result, err := db.ExecContext(ctx, `UPDATE incidents SET acknowledged=1 WHERE job_id=? AND acknowledged=0`, job.ID)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
