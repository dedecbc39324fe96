package agent

import (
	"context"
	"fmt"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// begin makes the session if it is new, repairs what an earlier turn left unfinished, and stores what the person said,
// all before the first request. Repair and user row are one transaction: history is legal before it and after it.
func (r *run) begin(ctx context.Context) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	s, wrong := r.session(ctx)
	if wrong != nil {
		return wrong
	}
	if r.t.Retry {
		if err := r.retry(ctx); err != nil {
			return err
		}
	}
	rows, err := r.c.Store.Messages(ctx, r.t.SessionID)
	if err != nil {
		return r.readError(ctx, err)
	}
	if r.t.Resume && !resumable(rows) {
		return invalid("there is no unfinished turn to resume in session " + r.t.SessionID)
	}
	before := rows
	if rows, wrong = r.ready(ctx, rows); wrong != nil {
		return wrong
	}
	r.entitle(ctx, s, before)
	legal, ids := alternate(rows)
	r.ids, r.steerable = ids, steerable(legal)
	if r.prompt != "" {
		r.history = append(r.history, llm.Message{Role: llm.RoleSystem, Content: r.prompt})
	}
	r.history = append(r.history, wire(legal)...)
	r.defs = definitions(r.c.Tools)
	return nil
}

// ready stores what the history lacks for its first request and returns all rows.
func (r *run) ready(ctx context.Context, rows []store.Message) ([]store.Message, *Error) {
	if r.t.Resume {
		return r.settle(ctx, rows)
	}
	add := append(repair(rows, r.readsOnly), store.Message{
		Role: llm.RoleUser, Content: r.t.UserText, PlatformMessageID: r.t.PlatformMessageID,
		DisplayKind: r.t.DisplayKind, DisplayMetadata: r.t.DisplayMetadata,
	})
	stored, err := r.c.Store.Append(context.WithoutCancel(ctx), r.t.SessionID, add...)
	if err != nil {
		return nil, persistence(err)
	}
	return append(rows, stored...), nil
}

// session finds or makes the session and settles its system prompt: the stored one, or one built now and stored. L1
// wants it built once: a prompt that changes between turns makes every prefix cache useless.
func (r *run) session(ctx context.Context) (store.Session, *Error) {
	s, found, err := r.c.Store.Session(ctx, r.t.SessionID)
	if err != nil {
		return s, r.readError(ctx, err)
	}
	if !found && (r.t.Resume || r.t.Retry) {
		return s, invalid("there is no session " + r.t.SessionID + " to go on with")
	}
	if !found && r.t.Source == "" {
		return s, invalid("a new session needs a source, such as cli or api")
	}
	r.source = firstOf(s.CreatedSource, s.Source, r.t.Source)
	r.prompt = s.SystemPrompt
	if r.prompt == "" && r.c.SystemPrompt != nil {
		if r.prompt, err = r.c.SystemPrompt(ctx); err != nil {
			if ctx.Err() != nil {
				return s, interrupted(ctx)
			}
			return s, &Error{Kind: KindInvalid, Err: fmt.Errorf("the system prompt cannot be built: %w", err)}
		}
		if found && r.prompt != "" {
			if err := r.c.Store.SetSystemPrompt(ctx, r.t.SessionID, r.prompt); err != nil {
				return s, persistence(err)
			}
		}
	}
	if found {
		return s, nil
	}
	s, created, err := r.c.Store.EnsureSession(ctx, r.newSession())
	if err != nil {
		return s, r.readError(ctx, err)
	}
	if !created {
		r.prompt = s.SystemPrompt // another writer made it meanwhile
	}
	return s, nil
}

func (r *run) newSession() store.Session {
	t := r.t
	return store.Session{
		ID: t.SessionID, Source: t.Source, CreatedSource: t.Source, SessionKey: t.SessionKey, UserID: t.UserID,
		ChatID: t.ChatID, ChatType: t.ChatType, ThreadID: t.ThreadID, DisplayName: t.DisplayName, CWD: t.CWD,
		Model: r.c.ModelName, SystemPrompt: r.prompt, ProfileName: r.c.Profile, StartedAt: r.c.Clock.Now(),
	}
}

// readError tells a stop from a store that failed.
func (r *run) readError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return persistence(err)
}
