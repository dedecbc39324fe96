package profile

import (
	"context"

	"hermes.dev/hermes/runtime/store"
)

// Sessions lists stored sessions, newest activity first.
func (r *Runtime) Sessions(ctx context.Context, o store.ListOptions) (list []store.Session, err error) {
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Sessions(ctx, o)
}

// Session returns one stored session and its transcript; ok is false when there is none.
func (r *Runtime) Session(ctx context.Context, id string) (session store.Session, messages []store.Message, ok bool, err error) {
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return store.Session{}, nil, false, err
	}
	defer release()
	session, ok, err = s.Session(ctx, id)
	if err != nil || !ok {
		return store.Session{}, nil, false, err
	}
	messages, err = s.Messages(ctx, id)
	return session, messages, true, err
}

// Seed begins a session with messages that somebody else kept so far. A session
// that exists already is left alone.
func (r *Runtime) Seed(ctx context.Context, session store.Session, messages []store.Message) (err error) {
	if err := r.admit(); err != nil {
		return err
	}
	defer r.leave()
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	if _, found, err := s.Session(ctx, session.ID); err != nil || found {
		return err // a write is not worth what a read can tell
	}
	session.ProfileName, session.CreatedSource = r.Name(), session.Source
	_, created, err := s.EnsureSession(ctx, session)
	if err != nil || !created {
		return err
	}
	_, err = s.Append(ctx, session.ID, messages...)
	return err
}

// Import adds the sessions of a copied store that nobody has open; those that are here already are left alone.
func (r *Runtime) Import(ctx context.Context, path string) (report store.ImportReport, err error) {
	if err := r.admit(); err != nil {
		return store.ImportReport{}, err
	}
	defer r.leave()
	defer r.catch(&err)
	s, release, err := r.store.acquire(ctx)
	if err != nil {
		return store.ImportReport{}, err
	}
	defer release()
	report, err = s.Import(ctx, path, store.ImportOptions{Profile: r.Name()})
	r.noteStore(ctx, err)
	return report, err
}
