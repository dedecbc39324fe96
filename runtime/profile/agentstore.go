package profile

import (
	"context"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
)

// agentStore gives the agent a store that may be closed between two turns: each
// call holds it open for as long as it runs.
type agentStore struct{ lazy *lazyStore }

var _ agent.Store = agentStore{}

// EnsureSession implements agent.Store.
func (a agentStore) EnsureSession(ctx context.Context, s store.Session) (store.Session, bool, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return store.Session{}, false, err
	}
	defer release()
	return st.EnsureSession(ctx, s)
}

// Session implements agent.Store.
func (a agentStore) Session(ctx context.Context, id string) (store.Session, bool, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return store.Session{}, false, err
	}
	defer release()
	return st.Session(ctx, id)
}

// SetSystemPrompt implements agent.Store.
func (a agentStore) SetSystemPrompt(ctx context.Context, id, prompt string) error {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return st.SetSystemPrompt(ctx, id, prompt)
}

// Append implements agent.Store.
func (a agentStore) Append(ctx context.Context, sessionID string, msgs ...store.Message) ([]store.Message, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return st.Append(ctx, sessionID, msgs...)
}

// Messages implements agent.Store.
func (a agentStore) Messages(ctx context.Context, sessionID string) ([]store.Message, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return st.Messages(ctx, sessionID)
}

// AddUsage implements agent.Store.
func (a agentStore) AddUsage(ctx context.Context, sessionID string, u store.Usage) error {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return st.AddUsage(ctx, sessionID, u)
}
