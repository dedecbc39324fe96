package store

import (
	"context"
	"fmt"
	"strings"

	"hermes.dev/hermes/runtime/store/db"
)

// SessionName is how people tell sessions apart.
type SessionName struct{ ID, Title string }

// AmbiguousError says that a reference fits several sessions. It matches ErrAmbiguousSession.
type AmbiguousError struct {
	Ref string
	// Candidates are the sessions it fits, newest activity first.
	Candidates []SessionName
}

func (e *AmbiguousError) Error() string {
	const most = 5
	names := make([]string, 0, most)
	for _, c := range e.Candidates[:min(most, len(e.Candidates))] {
		names = append(names, c.ID)
	}
	more := ""
	if left := len(e.Candidates) - most; left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	return fmt.Sprintf("%q fits %d sessions: %s%s: use more of the id", e.Ref, len(e.Candidates), strings.Join(names, ", "), more)
}

// Is makes errors.Is(err, ErrAmbiguousSession) true.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguousSession }

// ResolveSession finds the session a person means: by its id, by its title, by the beginning of its id, or by its
// title in other case, the first of them that fits; several that fit the same way are an *AmbiguousError. Errors:
// ErrNoSession.
func (s *Store) ResolveSession(ctx context.Context, ref string) (id string, err error) {
	ref = strings.TrimSpace(ref)
	var candidates []SessionName
	err = s.read(ctx, func(q *db.Queries) error {
		rows, err := q.SessionsLike(ctx, ref)
		candidates = make([]SessionName, len(rows))
		for i, row := range rows {
			candidates[i] = SessionName{ID: row.ID, Title: row.Title}
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return pickSession(ref, candidates)
}

// pickSession is the choice among candidates. It is pure.
func pickSession(ref string, candidates []SessionName) (string, error) {
	if ref == "" {
		return "", fmt.Errorf("no session was named: %w", ErrNoSession)
	}
	for _, fits := range []func(SessionName) bool{
		func(c SessionName) bool { return c.ID == ref },
		func(c SessionName) bool { return c.Title == ref },
		func(c SessionName) bool { return strings.HasPrefix(c.ID, ref) },
		func(c SessionName) bool { return strings.EqualFold(c.Title, ref) },
	} {
		var found []SessionName
		for _, c := range candidates {
			if fits(c) {
				found = append(found, c)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0].ID, nil
		default:
			return "", &AmbiguousError{Ref: ref, Candidates: found}
		}
	}
	return "", noSession(ref)
}
