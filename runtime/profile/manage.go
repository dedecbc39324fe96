package profile

import (
	"context"
	"errors"
	"io"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
)

// Search finds messages in stored sessions.
func (r *Runtime) Search(ctx context.Context, o store.SearchOptions) (found store.SearchResult, err error) {
	err = r.withStore(ctx, func(s *store.Store) error {
		found, err = s.Search(ctx, o)
		return err
	})
	return found, err
}

// ResolveSession gives the id of the session that a reference means: an id, a title, or the beginning of an id.
func (r *Runtime) ResolveSession(ctx context.Context, ref string) (id string, err error) {
	err = r.withStore(ctx, func(s *store.Store) error {
		id, err = s.ResolveSession(ctx, ref)
		return err
	})
	return id, err
}

// ExportSession writes one session in a format.
func (r *Runtime) ExportSession(ctx context.Context, w io.Writer, id string, format store.ExportFormat) error {
	return r.withStore(ctx, func(s *store.Store) error { return s.Export(ctx, w, id, format) })
}

// RenameSession gives a session the title a person chose and returns it as stored.
func (r *Runtime) RenameSession(ctx context.Context, id, title string) (stored string, err error) {
	err = r.changing(ctx, func(s *store.Store) error {
		stored, err = s.Rename(ctx, id, title)
		return err
	})
	return stored, err
}

// DeleteSession deletes a conversation, and so every session that compression linked to the one named. While a turn
// runs in it, it is refused as busy; with force the turn is stopped first.
func (r *Runtime) DeleteSession(ctx context.Context, id string, force bool) (gone store.Pruned, err error) {
	err = r.changing(ctx, func(s *store.Store) error {
		ids, err := s.Conversation(ctx, id)
		if err != nil {
			return err
		}
		for _, session := range ids { // no turn begins in any of them from here on
			if err := r.claimIdle(ctx, session, force); err != nil {
				return err
			}
			defer r.unclaim(session)
		}
		gone, err = s.DeleteSession(ctx, id)
		return err
	})
	r.forget(gone.Sessions)
	return gone, err
}

// claimIdle claims a session for something other than a turn; with stop, a turn that runs in it is stopped first.
func (r *Runtime) claimIdle(ctx context.Context, session string, stop bool) error {
	for {
		freed := r.awaitFree()
		err := r.claim(session, func(error) {})
		var busy *agent.Error
		if !stop || !errors.As(err, &busy) || busy.Kind != agent.KindBusy {
			return err
		}
		r.Stop(session)
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitFree returns a channel that is closed when the next turn of any session is over.
func (r *Runtime) awaitFree() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	return r.freed
}

// withStore runs fn with the store open.
func (r *Runtime) withStore(ctx context.Context, fn func(*store.Store) error) (err error) {
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return fn(s)
}

// changing is withStore for what changes the store: it is refused while the profile stops, and what it changed shows
// in the profile's status.
func (r *Runtime) changing(ctx context.Context, fn func(*store.Store) error) (err error) {
	if err := r.admit(); err != nil {
		return err
	}
	defer r.leave()
	defer func() { r.noteStore(ctx, err) }()
	return r.withStore(ctx, fn)
}
