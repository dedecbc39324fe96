package store

import (
	"context"
	"slices"
)

// Conversation lists the sessions that go with one when it is deleted: itself and those that compression linked to
// it. Errors: ErrNoSession.
func (s *Store) Conversation(ctx context.Context, id string) ([]string, error) {
	all, err := s.lineages(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if ids := l.ids(); slices.Contains(ids, id) {
			return ids, nil
		}
	}
	return nil, noSession(id)
}
