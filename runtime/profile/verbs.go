package profile

import (
	"context"
	"errors"
	"fmt"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
)

// change runs f as the one owner of a session, with the store held open. A session that answers is busy.
func (r *Runtime) change(ctx context.Context, sessionID string, f func(ctx context.Context, s *store.Store) error) error {
	if err := r.admit(); err != nil {
		return err
	}
	defer r.leave()
	return r.changeAdmitted(ctx, sessionID, f)
}

// changeClaimed is change for work that was taken on before a drain began.
func (r *Runtime) changeClaimed(ctx context.Context, sessionID string, f func(ctx context.Context, s *store.Store) error) error {
	if err := r.admitClaimed(); err != nil {
		return err
	}
	defer r.leave()
	return r.changeAdmitted(ctx, sessionID, f)
}

func (r *Runtime) changeAdmitted(ctx context.Context, sessionID string, f func(ctx context.Context, s *store.Store) error) (err error) {
	defer r.catch(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	if err := r.claim(sessionID, cancel); err != nil {
		return err
	}
	defer r.unclaim(sessionID)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f(ctx, s)
}

// Undo takes what the person said last in a session, and everything after it, out of the conversation; the rows stay
// in the store as inactive ones. A steer that waits there goes too: it belonged to what was undone.
func (r *Runtime) Undo(ctx context.Context, sessionID string) (undone agent.Undone, err error) {
	err = r.change(ctx, sessionID, func(ctx context.Context, s *store.Store) error {
		if _, ok, err := s.Session(ctx, sessionID); err != nil || !ok {
			return errors.Join(err, missing(sessionID, ok))
		}
		if undone, err = agent.Undo(ctx, s, sessionID); err != nil {
			return err
		}
		return s.SetPendingSteer(ctx, sessionID, "")
	})
	return undone, err
}

// Begin is how a session begins that follows another.
type Begin struct {
	// From is the session that ends; the new one is its child and stands for the same chat.
	From string
	// Reason is why From ends, a boundary of S-104; "" is session.EndNewSession.
	Reason session.EndReason
}

// BeginSession makes a session in the place of another, which ends. The new one exists before the old one ends, so
// that a chat that is routed to them always has one. Implements the _reset_from marker of S-103.
func (r *Runtime) BeginSession(ctx context.Context, b Begin) (made store.Session, err error) {
	if b.Reason == "" {
		b.Reason = session.EndNewSession
	}
	if !b.Reason.Boundary() {
		return store.Session{}, &agent.Error{Kind: agent.KindInvalid, Err: fmt.Errorf("reason %q begins no new session: use new_session, or session_reset, session_switch, idle, daily or suspended", b.Reason)}
	}
	err = r.change(ctx, b.From, func(ctx context.Context, s *store.Store) error {
		old, ok, err := s.Session(ctx, b.From)
		if err != nil || !ok {
			return errors.Join(err, missing(b.From, ok))
		}
		next := store.Session{
			ParentID: old.ID, Source: old.Source, CreatedSource: old.Source, SessionKey: old.SessionKey, UserID: old.UserID,
			ChatID: old.ChatID, ChatType: old.ChatType, ThreadID: old.ThreadID, DisplayName: old.DisplayName, Origin: old.Origin,
			CWD: old.CWD, ProfileName: old.ProfileName, TransportProfile: old.TransportProfile, StartedAt: r.o.Clock.Now(),
		}
		if next.ID, err = session.NewID(next.StartedAt, nil); err != nil {
			return err
		}
		if next.ModelConfig, err = session.Mark("", session.ResetFrom, old.ID); err != nil {
			return err
		}
		if made, _, err = s.EnsureSession(ctx, next); err != nil {
			return err
		}
		return s.EndSession(context.WithoutCancel(ctx), old.ID, string(b.Reason))
	})
	return made, err
}

// Usage is what a session consumed: its row with the total, and the parts by model, billing route and task.
func (r *Runtime) Usage(ctx context.Context, sessionID string) (total store.Session, parts []store.ModelUsage, err error) {
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return store.Session{}, nil, err
	}
	defer release()
	total, ok, err := s.Session(ctx, sessionID)
	if err != nil || !ok {
		return total, nil, errors.Join(err, missing(sessionID, ok))
	}
	parts, err = s.ModelUsage(ctx, sessionID)
	return total, parts, err
}

// missing is the error of a session that was not found.
func missing(id string, found bool) error {
	if found {
		return nil
	}
	return fmt.Errorf("session %q: %w", id, store.ErrNoSession)
}
