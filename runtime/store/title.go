package store

import (
	"context"
	"fmt"
	"slices"

	"hermes.dev/hermes/runtime/store/db"
)

// Entitle names a session unless somebody else has named it: a derived title goes only to a session that never had
// one, a model's title also replaces a derived one, and nothing here replaces what a person, or a branch, chose. A
// title that another session has gets the first free number. It returns the title as stored; ok is false when the
// session keeps what it has, or does not exist.
//
// Implements the store's part of S-241.
func (s *Store) Entitle(ctx context.Context, id, title, source string) (stored string, ok bool, err error) {
	replaces := ""
	switch {
	case title == "":
		return "", false, fmt.Errorf("session %q: a title of no characters", id)
	case source == TitleLLM:
		replaces = TitleDerived
	case source != TitleDerived:
		return "", false, fmt.Errorf("title source %q: only %s and %s titles are given without asking", source, TitleDerived, TitleLLM)
	}
	err = s.write(ctx, RoutineBudget, func(ctx context.Context, q *db.Queries) error {
		taken, err := q.TitlesBetween(ctx, db.TitlesBetweenParams{Low: title, High: title + " )"})
		if err != nil {
			return err
		}
		stored = freeTitle(title, taken)
		n, err := q.Entitle(ctx, db.EntitleParams{Title: stored, Source: source, ID: id, Replaces: replaces})
		ok = n > 0
		return err
	})
	if err != nil || !ok {
		return "", false, err
	}
	return stored, true, nil
}

// freeTitle is the title, or the title with the first number from 2 that makes it one of its own.
func freeTitle(title string, taken []string) string {
	free := title
	for n := 2; slices.Contains(taken, free); n++ {
		free = fmt.Sprintf("%s (%d)", title, n)
	}
	return free
}
