package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"hermes.dev/hermes/runtime/store/db"
)

// Session is one conversation. Empty strings and zero times are NULL in the file. Counters and Usage are kept by
// Append and AddUsage; EnsureSession ignores them.
type Session struct {
	ID string
	// Source is where the conversation happens: cli, cron, a platform name.
	Source        string
	CreatedSource string
	// SessionKey is the routing key that finds the session again.
	SessionKey                         string
	UserID, ChatID, ChatType, ThreadID string
	DisplayName                        string
	// Origin and ModelConfig are JSON text.
	Origin, ModelConfig string
	Model               string
	// SystemPrompt is stored once per distinct text. Sessions leaves it empty.
	SystemPrompt string
	// ParentID is the session this one continues or branched from.
	ParentID                    string
	CWD, GitBranch, GitRepoRoot string
	Title, TitleSource          string
	ProfileName                 string
	TransportProfile            string
	ToolNames                   string
	StartedAt                   time.Time
	EndedAt                     time.Time
	LastActivityAt              time.Time
	EndReason                   string
	Archived, Pinned, Hidden    bool
	MessageCount                int64
	ToolCallCount               int64
	// Usage is the total over all models; its Model and Task are empty.
	Usage Usage
	// Preview is the beginning of what was said first, at most 200 characters. Lists fill it in; nothing stores it.
	Preview string
}

// The values of Session.TitleSource.
const (
	TitleDerived        = "derived"
	TitleLLM            = "llm"
	TitleUser           = "user"
	TitleBranch         = "branch"
	TitleBranchFallback = "branch_fallback"
)

// EnsureSession inserts the session unless its ID exists, and returns the stored row and whether this call made it.
// A zero StartedAt is now. Errors: ErrNoSession when ParentID is not in the store, ErrTitleTaken.
func (s *Store) EnsureSession(ctx context.Context, session Session) (stored Session, created bool, err error) {
	if session.ID == "" || session.Source == "" {
		return Session{}, false, errors.New("session: ID and Source must be set")
	}
	if err := checkTitleSource(session.Title, session.TitleSource); err != nil {
		return Session{}, false, err
	}
	if session.StartedAt.IsZero() {
		session.StartedAt = s.clock.Now()
	}
	if session.LastActivityAt.IsZero() {
		session.LastActivityAt = session.StartedAt
	}
	err = s.write(ctx, TranscriptBudget, func(ctx context.Context, q *db.Queries) error {
		params := session.insertParams()
		if session.SystemPrompt != "" {
			hash, err := storePrompt(ctx, q, session.SystemPrompt)
			if err != nil {
				return err
			}
			params.SystemPromptHash = nullText(hash)
		}
		n, err := q.InsertSession(ctx, params)
		if err != nil {
			return sessionError(err, session.ID)
		}
		created = n > 0
		row, err := q.GetSession(ctx, session.ID)
		if err != nil {
			return err
		}
		stored, err = withPrompt(ctx, q, row)
		return err
	})
	if err != nil {
		return Session{}, false, err
	}
	return stored, created, nil
}

// Session returns one session; false when there is none.
func (s *Store) Session(ctx context.Context, id string) (Session, bool, error) {
	return s.one(ctx, func(q *db.Queries) (db.Session, error) { return q.GetSession(ctx, id) })
}

// SessionByKey returns the newest session of a routing key that has not ended; false when there is none.
func (s *Store) SessionByKey(ctx context.Context, key string) (Session, bool, error) {
	return s.one(ctx, func(q *db.Queries) (db.Session, error) { return q.SessionByKey(ctx, nullText(key)) })
}

func (s *Store) one(ctx context.Context, get func(*db.Queries) (db.Session, error)) (found Session, ok bool, err error) {
	err = s.read(ctx, func(q *db.Queries) error {
		row, err := get(q)
		if err != nil {
			return err
		}
		found, err = withPrompt(ctx, q, row)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, false, nil
	}
	return found, err == nil, err
}

// SetTitle names a session; an empty title takes the name away. Errors: ErrNoSession, ErrTitleTaken.
func (s *Store) SetTitle(ctx context.Context, id, title, source string) error {
	if err := checkTitleSource(title, source); err != nil {
		return err
	}
	return s.update(ctx, RoutineBudget, id, func(ctx context.Context, q *db.Queries) (int64, error) {
		return q.SetTitle(ctx, db.SetTitleParams{Title: nullText(title), TitleSource: nullText(source), ID: id})
	})
}

// EndSession marks a session ended now for the reason. The first reason stands: ending twice changes nothing.
func (s *Store) EndSession(ctx context.Context, id, reason string) error {
	if reason == "" {
		return errors.New("session: an end needs a reason")
	}
	at := epoch(s.clock.Now())
	return s.update(ctx, RoutineBudget, id, func(ctx context.Context, q *db.Queries) (int64, error) {
		return q.EndSession(ctx, db.EndSessionParams{EndedAt: at, EndReason: reason, ID: id})
	})
}

// ReopenSession takes an end back, for the recoverable reasons of rule S-104; the caller decides which those are.
func (s *Store) ReopenSession(ctx context.Context, id string) error {
	return s.update(ctx, RoutineBudget, id, func(ctx context.Context, q *db.Queries) (int64, error) {
		return q.ReopenSession(ctx, id)
	})
}

// SetSystemPrompt records the prompt a session runs with. Equal prompts share one row.
func (s *Store) SetSystemPrompt(ctx context.Context, id, prompt string) error {
	return s.update(ctx, TranscriptBudget, id, func(ctx context.Context, q *db.Queries) (int64, error) {
		hash, err := storePrompt(ctx, q, prompt)
		if err != nil {
			return 0, err
		}
		return q.SetSystemPromptHash(ctx, db.SetSystemPromptHashParams{SystemPromptHash: nullText(hash), ID: id})
	})
}

// Touch records activity without a message, within ActivityBudget: it is dropped rather than waited for (S-110).
// Activity never moves back.
func (s *Store) Touch(ctx context.Context, id, description, provenance string) error {
	at := epoch(s.clock.Now())
	return s.update(ctx, ActivityBudget, id, func(ctx context.Context, q *db.Queries) (int64, error) {
		return q.TouchSession(ctx, db.TouchSessionParams{
			At: at, Description: nullText(description), Provenance: nullText(provenance), ID: id,
		})
	})
}

// update runs a statement that must change the row of session id.
func (s *Store) update(
	ctx context.Context, budget time.Duration, id string, statement func(context.Context, *db.Queries) (int64, error),
) error {
	return s.write(ctx, budget, func(ctx context.Context, q *db.Queries) error {
		n, err := statement(ctx, q)
		if err != nil {
			return sessionError(err, id)
		}
		if n == 0 {
			return noSession(id)
		}
		return nil
	})
}

func storePrompt(ctx context.Context, q *db.Queries, prompt string) (hash string, err error) {
	sum := sha256.Sum256([]byte(prompt))
	hash = hex.EncodeToString(sum[:])
	return hash, q.InsertSystemPrompt(ctx, db.InsertSystemPromptParams{Hash: hash, Prompt: prompt})
}

// withPrompt adds the prompt text, which rows written before prompts were shared carry themselves.
func withPrompt(ctx context.Context, q *db.Queries, row db.Session) (Session, error) {
	session := sessionFrom(row)
	if !row.SystemPromptHash.Valid {
		session.SystemPrompt = row.SystemPrompt.String
		return session, nil
	}
	prompt, err := q.PromptByHash(ctx, row.SystemPromptHash.String)
	if errors.Is(err, sql.ErrNoRows) {
		return session, nil
	}
	session.SystemPrompt = prompt
	return session, err
}

func checkTitleSource(title, source string) error {
	switch source {
	case TitleDerived, TitleLLM, TitleUser, TitleBranch, TitleBranchFallback:
		return nil
	case "":
		if title == "" {
			return nil
		}
	}
	return fmt.Errorf("title source %q: use %s, %s, %s, %s or %s",
		source, TitleDerived, TitleLLM, TitleUser, TitleBranch, TitleBranchFallback)
}

func noSession(id string) error { return fmt.Errorf("session %q: %w", id, ErrNoSession) }

// Extended result codes of constraint failures.
const (
	codeConstraintForeignKey = 787
	codeConstraintUnique     = 2067
)

// sessionError names constraint failures of the sessions table.
func sessionError(err error, id string) error {
	switch code, _ := resultCode(err); code {
	case codeConstraintForeignKey:
		return fmt.Errorf("session %q refers to a missing parent: %w", id, ErrNoSession)
	case codeConstraintUnique:
		return fmt.Errorf("session %q: %w", id, ErrTitleTaken)
	default:
		return err
	}
}
