package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// DefaultListLimit is how many sessions a list returns when it does not say.
const DefaultListLimit = 50

// ListOptions choose a page of sessions.
type ListOptions struct {
	// Limit is the page size; 0 is DefaultListLimit.
	Limit int
	// Before and BeforeID are the LastActivityAt and ID of the last session of the page before; zero for the first.
	Before   time.Time
	BeforeID string
	// Source keeps only one source; empty keeps all but subagent, the children of other sessions, which Hidden includes.
	Source string
	// Since keeps sessions with activity at or after that time.
	Since time.Time
	// Archived and Hidden include such sessions.
	Archived, Hidden bool
}

// Sessions lists sessions by newest activity, ties by ID, without their system prompts, with the beginning of what
// was said first.
func (s *Store) Sessions(ctx context.Context, o ListOptions) ([]Session, error) {
	params := db.ListSessionsParams{
		Before: math.MaxFloat64, BeforeID: o.BeforeID, Source: o.Source,
		MaxHidden: flag(o.Hidden), MaxArchived: flag(o.Archived), MaxRows: int64(o.Limit),
	}
	if !o.Before.IsZero() {
		params.Before = epoch(o.Before)
	}
	if !o.Since.IsZero() {
		params.Since = epoch(o.Since)
	}
	if o.Limit <= 0 {
		params.MaxRows = DefaultListLimit
	}
	var sessions []Session
	err := s.read(ctx, func(q *db.Queries) error {
		rows, err := q.ListSessions(ctx, params)
		if err != nil {
			return err
		}
		sessions = make([]Session, len(rows))
		for i, row := range rows {
			sessions[i] = sessionFrom(row)
			said, err := q.FirstSaid(ctx, row.ID)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			sessions[i].Preview = said
		}
		return nil
	})
	return sessions, err
}
