package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// ErrDelegationCapacity means that as many delegations run as may.
var ErrDelegationCapacity = errors.New("as many delegations run as may at one time")

// The delivery states of a delegation.
const (
	DeliveryPending   = "pending"
	DeliveryDelivered = "delivered"
	DeliveryDropped   = "dropped"
)

const (
	// delegationClaimLife is how long a claim holds without being settled.
	delegationClaimLife = 300 * time.Second
	// delegationAttempts is how often a delivery is tried.
	delegationAttempts = 8
	// What is kept: delivered rows for so long, and at most so many rows.
	delegationKeep        = 7 * 24 * time.Hour
	maxSettledDelegations = 50
	maxPendingDelegations = 1000
)

// Delegation is one row of async_delegations: work that runs apart from the session that asked for it, and whose
// result is owed to that session. Empty texts and zero times are NULL in the file.
//
// Implements S-201.
type Delegation struct {
	ID string
	// OriginSession is the routing key of the session that asked, "" when it has none; OriginSessionID its id.
	OriginSession, OriginSessionID, OriginUISessionID string
	// ParentSessionID is the session whose turn asked.
	ParentSessionID string
	// State is running, stalling, finalizing or one of the final ones.
	State                                string
	DispatchedAt, CompletedAt, UpdatedAt time.Time
	// Task, Result and Event are JSON: what was asked, what came of it so far, and what the parent is told.
	Task, Result, Event json.RawMessage
	// OwnerPID and OwnerStartedAt, in seconds since the epoch, name the process that runs it; 0 is unknown.
	OwnerPID       int
	OwnerStartedAt float64
	DeliveryState  string
	Attempts       int64
	DeliveredAt    time.Time
	Claim          string
	ClaimedAt      time.Time
}

// DispatchDelegation inserts a row in state running, unless capacity rows run already: then it is
// ErrDelegationCapacity and nothing is written. Counting and inserting are one transaction.
//
// Implements S-202 and the capacity of S-205.
func (s *Store) DispatchDelegation(ctx context.Context, d Delegation, capacity int) error {
	if d.ID == "" || len(d.Task) > 0 && !json.Valid(d.Task) {
		return errors.New("delegation: ID must be set and Task must be JSON")
	}
	if d.DispatchedAt.IsZero() {
		d.DispatchedAt = s.clock.Now()
	}
	return s.write(ctx, RoutineBudget, func(ctx context.Context, q *db.Queries) error {
		live, err := q.LiveDelegations(ctx)
		if err != nil {
			return err
		}
		if live >= int64(capacity) {
			return fmt.Errorf("%w: %d of %d", ErrDelegationCapacity, live, capacity)
		}
		return q.InsertDelegation(ctx, db.InsertDelegationParams{
			DelegationID: d.ID, OriginSession: d.OriginSession, OriginUiSessionID: nullText(d.OriginUISessionID),
			ParentSessionID: nullText(d.ParentSessionID), OriginSessionID: nullText(d.OriginSessionID), State: "running",
			DispatchedAt: epoch(d.DispatchedAt), UpdatedAt: nullEpoch(d.DispatchedAt), TaskJson: nullText(string(d.Task)),
			OwnerPid:       sql.NullInt64{Int64: int64(d.OwnerPID), Valid: d.OwnerPID != 0},
			OwnerStartedAt: sql.NullFloat64{Float64: d.OwnerStartedAt, Valid: d.OwnerStartedAt != 0},
		})
	})
}

// RecordDelegation keeps what came of an unfinished delegation so far. It is false when it is finished or gone.
func (s *Store) RecordDelegation(ctx context.Context, id, state string, result json.RawMessage) (bool, error) {
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		return q.RecordDelegation(ctx, db.RecordDelegationParams{State: state, Result: nullText(string(result)), At: at, ID: id})
	})
}

// FinishDelegation ends an unfinished delegation: its event is pending from then on. A zero completed leaves open when
// it ended. It is false when it was finished already, so that one delegation has one event.
func (s *Store) FinishDelegation(ctx context.Context, id, state string, event, result json.RawMessage, completed time.Time) (bool, error) {
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		return q.FinishDelegation(ctx, db.FinishDelegationParams{
			State: state, Event: nullText(string(event)), Result: nullText(string(result)), CompletedAt: nullEpoch(completed), At: at, ID: id,
		})
	})
}

// ClaimDelegation takes a pending delivery, one attempt, for whoever names itself claim. It is false when somebody else
// has had it for less than 300 s, or it is not pending. An event without a row is anybody's: it came from a program that
// kept none.
//
// Implements the claim of S-214.
func (s *Store) ClaimDelegation(ctx context.Context, id, claim string) (bool, error) {
	stale := s.clock.Now().Add(-delegationClaimLife)
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		n, err := q.ClaimDelegation(ctx, db.ClaimDelegationParams{Claim: nullText(claim), At: at, ID: id, StaleBefore: epoch(stale)})
		if n > 0 || err != nil {
			return n, err
		}
		if _, err = q.GetDelegation(ctx, id); errors.Is(err, sql.ErrNoRows) {
			return 1, nil
		}
		return 0, err
	})
}

// ReleaseDelegation gives a claim back after a delivery that failed; after the eighth attempt the row is dropped.
func (s *Store) ReleaseDelegation(ctx context.Context, id, claim string) (bool, error) {
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		return q.ReleaseDelegation(ctx, db.ReleaseDelegationParams{Most: delegationAttempts, At: at, ID: id, Claim: nullText(claim)})
	})
}

// DeferDelegation gives a claim and its attempt back: nothing was tried.
func (s *Store) DeferDelegation(ctx context.Context, id, claim string) (bool, error) {
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		return q.DeferDelegation(ctx, db.DeferDelegationParams{At: at, ID: id, Claim: nullText(claim)})
	})
}

// CompleteDelegation says that the parent has been told.
func (s *Store) CompleteDelegation(ctx context.Context, id, claim string) (bool, error) {
	return s.settleDelegation(ctx, id, claim, DeliveryDelivered)
}

// DropDelegation says that nobody will be told. What came of it can still be read.
func (s *Store) DropDelegation(ctx context.Context, id, claim string) (bool, error) {
	return s.settleDelegation(ctx, id, claim, DeliveryDropped)
}

func (s *Store) settleDelegation(ctx context.Context, id, claim, state string) (bool, error) {
	return s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		delivered := at
		delivered.Valid = state == DeliveryDelivered
		return q.SettleDelegation(ctx, db.SettleDelegationParams{DeliveryState: state, DeliveredAt: delivered, At: at, ID: id, Claim: nullText(claim)})
	})
}

// DropOldDelegations drops what is pending and completed, or else dispatched, more than age ago, and names it.
//
// Implements S-211: exactly age is kept.
func (s *Store) DropOldDelegations(ctx context.Context, age time.Duration) (ids []string, err error) {
	before := epoch(s.clock.Now().Add(-age))
	_, err = s.delegation(ctx, func(ctx context.Context, q *db.Queries, at sql.NullFloat64) (int64, error) {
		ids, err = q.DropOldDelegations(ctx, db.DropOldDelegationsParams{At: at, Before: before})
		return int64(len(ids)), err
	})
	return ids, err
}

// TrimDelegations deletes what is not kept any longer.
//
// Implements S-207.
func (s *Store) TrimDelegations(ctx context.Context) error {
	before := epoch(s.clock.Now().Add(-delegationKeep))
	_, err := s.delegation(ctx, func(ctx context.Context, q *db.Queries, _ sql.NullFloat64) (int64, error) {
		if n, err := q.ExpireDelegations(ctx, before); err != nil {
			return n, err
		}
		if n, err := q.TrimSettledDelegations(ctx, maxSettledDelegations); err != nil {
			return n, err
		}
		return q.TrimPendingDelegations(ctx, maxPendingDelegations)
	})
	return err
}

// delegation runs one change and says whether it changed a row.
func (s *Store) delegation(ctx context.Context, change func(context.Context, *db.Queries, sql.NullFloat64) (int64, error)) (changed bool, err error) {
	at := nullEpoch(s.clock.Now())
	err = s.write(ctx, RoutineBudget, func(ctx context.Context, q *db.Queries) error {
		n, err := change(ctx, q, at)
		changed = n > 0
		return err
	})
	return changed && err == nil, err
}
