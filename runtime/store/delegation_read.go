package store

import (
	"context"
	"database/sql"
	"errors"

	"hermes.dev/hermes/runtime/store/db"
)

// Delegation returns one row; false when there is none.
func (s *Store) Delegation(ctx context.Context, id string) (d Delegation, ok bool, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		row, err := q.GetDelegation(ctx, id)
		d = delegationFrom(row)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Delegation{}, false, nil
	}
	return d, err == nil, err
}

// Delegations lists rows, the newest dispatch first; parent "" lists those of every session, limit 0 at most DefaultListLimit.
func (s *Store) Delegations(ctx context.Context, parent string, limit int) ([]Delegation, error) {
	if limit <= 0 {
		limit = DefaultListLimit
	}
	return s.delegations(ctx, func(q *db.Queries) ([]db.AsyncDelegation, error) {
		return q.ListDelegations(ctx, db.ListDelegationsParams{Parent: parent, MaxRows: int64(limit)})
	})
}

// UnfinishedDelegations lists the rows that say that something runs, the oldest first. Whether it does, only their
// owner can tell.
func (s *Store) UnfinishedDelegations(ctx context.Context) ([]Delegation, error) {
	return s.delegations(ctx, func(q *db.Queries) ([]db.AsyncDelegation, error) { return q.UnfinishedDelegations(ctx) })
}

// PendingDelegations lists the finished rows whose parents have not been told, the oldest first.
func (s *Store) PendingDelegations(ctx context.Context) ([]Delegation, error) {
	return s.delegations(ctx, func(q *db.Queries) ([]db.AsyncDelegation, error) { return q.PendingDelegations(ctx) })
}

func (s *Store) delegations(ctx context.Context, list func(*db.Queries) ([]db.AsyncDelegation, error)) (out []Delegation, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		rows, err := list(q)
		out = make([]Delegation, len(rows))
		for i, row := range rows {
			out[i] = delegationFrom(row)
		}
		return err
	})
	return out, err
}

// HasPlatformMessage reports whether a session, in any generation of its rows, has the message with a platform's id.
func (s *Store) HasPlatformMessage(ctx context.Context, sessionID, message string) (has bool, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		has, err = q.HasPlatformMessage(ctx, db.HasPlatformMessageParams{Session: sessionID, Message: message})
		return err
	})
	return has, err
}

func delegationFrom(row db.AsyncDelegation) Delegation {
	return Delegation{
		ID: row.DelegationID, OriginSession: row.OriginSession, OriginSessionID: row.OriginSessionID.String,
		OriginUISessionID: row.OriginUiSessionID.String, ParentSessionID: row.ParentSessionID.String, State: row.State,
		DispatchedAt: fromEpoch(row.DispatchedAt), CompletedAt: fromNullEpoch(row.CompletedAt), UpdatedAt: fromNullEpoch(row.UpdatedAt),
		Task: rawJSON(row.TaskJson), Result: rawJSON(row.ResultJson), Event: rawJSON(row.EventJson),
		OwnerPID: int(row.OwnerPid.Int64), OwnerStartedAt: row.OwnerStartedAt.Float64, DeliveryState: row.DeliveryState,
		Attempts: row.DeliveryAttempts.Int64, DeliveredAt: fromNullEpoch(row.DeliveredAt), Claim: row.DeliveryClaim.String,
		ClaimedAt: fromNullEpoch(row.DeliveryClaimedAt),
	}
}
