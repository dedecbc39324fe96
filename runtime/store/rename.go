package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"hermes.dev/hermes/runtime/store/db"
)

// maxTitle is the longest title, in characters.
const maxTitle = 100

// Rename gives a session the title a person chose; an empty one takes the title away. White space is collapsed. The
// title as stored is returned. Errors: ErrBadTitle, ErrNoSession, ErrTitleTaken with the id of the session that has
// it.
func (s *Store) Rename(ctx context.Context, id, title string) (string, error) {
	title, err := cleanTitle(title)
	if err != nil {
		return "", err
	}
	source := TitleUser
	if title == "" {
		source = ""
	}
	err = s.SetTitle(ctx, id, title, source)
	if !errors.Is(err, ErrTitleTaken) {
		return title, err
	}
	var other string
	if readErr := s.read(ctx, func(q *db.Queries) (err error) {
		other, err = q.SessionWithTitle(ctx, nullText(title))
		return err
	}); readErr != nil && !errors.Is(readErr, sql.ErrNoRows) {
		return "", errors.Join(err, readErr)
	}
	return "", fmt.Errorf("%w: session %s is called %q", ErrTitleTaken, other, title)
}

// cleanTitle is pure.
func cleanTitle(title string) (string, error) {
	title = strings.Join(strings.Fields(strings.ToValidUTF8(title, "")), " ")
	if strings.ContainsFunc(title, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
		return "", fmt.Errorf("%w: it has control characters", ErrBadTitle)
	}
	if n := len([]rune(title)); n > maxTitle {
		return "", fmt.Errorf("%w: it has %d characters, %d are allowed", ErrBadTitle, n, maxTitle)
	}
	return title, nil
}
