package store

import (
	"context"

	"hermes.dev/hermes/runtime/store/db"
)

// Rewind takes a session's active messages from one on out of the conversation and returns how many they were. They
// stay in the file as inactive rows, and are not marked as compacted. Errors: ErrNoSession.
func (s *Store) Rewind(ctx context.Context, sessionID string, from int64) (rows int64, err error) {
	at := epoch(s.clock.Now())
	err = s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		ids, err := q.Deactivate(ctx, db.DeactivateParams{SessionID: sessionID, ID: from})
		if err != nil {
			return err
		}
		rows = int64(len(ids))
		n, err := q.CountRewind(ctx, db.CountRewindParams{Messages: rows, At: at, ID: sessionID})
		if err == nil && n == 0 {
			err = noSession(sessionID)
		}
		return err
	})
	return rows, err
}
