package store

import (
	"context"
	"database/sql"
	"errors"

	"hermes.dev/hermes/runtime/store/db"
)

// steerKey is where a session's pending steer is kept in state_meta.
func steerKey(sessionID string) string { return "pending_steer:" + sessionID }

func steerKeys(sessionIDs []string) []string {
	keys := make([]string, len(sessionIDs))
	for i, id := range sessionIDs {
		keys[i] = steerKey(id)
	}
	return keys
}

// PendingSteer returns what was said to the session's running turn and is not part of the transcript yet; "" when
// there is nothing.
func (s *Store) PendingSteer(ctx context.Context, sessionID string) (text string, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		text, err = q.PendingSteer(ctx, steerKey(sessionID))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, err
}

// SetPendingSteer replaces it; "" forgets it.
func (s *Store) SetPendingSteer(ctx context.Context, sessionID, text string) error {
	return s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		if text == "" {
			return q.DropPendingSteer(ctx, steerKey(sessionID))
		}
		return q.SetPendingSteer(ctx, db.SetPendingSteerParams{Key: steerKey(sessionID), Value: nullText(text)})
	})
}

// AppendSteer is Append that forgets the pending steer in the same transaction: it is either pending or a row, whatever
// happens to the process.
func (s *Store) AppendSteer(ctx context.Context, sessionID string, m Message) ([]Message, error) {
	return s.appendWith(ctx, sessionID, []Message{m}, func(ctx context.Context, q *db.Queries) error {
		return q.DropPendingSteer(ctx, steerKey(sessionID))
	})
}
