package agent

import (
	"context"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// UndoStore is what undoing needs of the session store; *store.Store implements it.
type UndoStore interface {
	Messages(ctx context.Context, sessionID string) ([]store.Message, error)
	Rewind(ctx context.Context, sessionID string, from int64) (int64, error)
}

var _ UndoStore = (*store.Store)(nil)

// Undone is what an undo took out of a conversation.
type Undone struct {
	// Text is what the person had said.
	Text string
	// Rows is how many rows left the conversation. They stay in the store.
	Rows int64
}

// LastSaid finds the newest row in which a person said something. A steer is one; what a peer said, a summary and what
// the program wrote are not (P-32).
func LastSaid(rows []store.Message) (store.Message, bool) {
	for i := len(rows) - 1; i >= 0; i-- {
		m := rows[i]
		if m.Role == llm.RoleUser && m.DisplayKind != DisplayPeer && m.DisplayKind != DisplayNotice && !m.CompressedSummary {
			return m, true
		}
	}
	return store.Message{}, false
}

// Undo takes what the person said last, and everything after it, out of the conversation. The caller owns the session.
// The error is an *Error of KindInvalid when there is nothing to take back.
func Undo(ctx context.Context, st UndoStore, sessionID string) (Undone, error) {
	rows, err := st.Messages(ctx, sessionID)
	if err != nil {
		return Undone{}, err
	}
	said, ok := LastSaid(rows)
	if !ok {
		return Undone{}, invalid("there is nothing to undo in session " + sessionID)
	}
	n, err := st.Rewind(context.WithoutCancel(ctx), sessionID, said.ID)
	return Undone{Text: said.Content, Rows: n}, err
}

// retry undoes what was said last and makes its text this turn's.
func (r *run) retry(ctx context.Context) *Error {
	undone, err := Undo(ctx, r.c.Store, r.t.SessionID)
	if wrong, ok := err.(*Error); ok {
		return wrong
	}
	if err != nil {
		return r.readError(ctx, err)
	}
	r.t.UserText = undone.Text
	return nil
}
