package profile

import (
	"context"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
)

var _ agent.SteerStore = agentStore{}

// PendingSteer implements agent.SteerStore.
func (a agentStore) PendingSteer(ctx context.Context, sessionID string) (string, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	return st.PendingSteer(ctx, sessionID)
}

// SetPendingSteer implements agent.SteerStore.
func (a agentStore) SetPendingSteer(ctx context.Context, sessionID, text string) error {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return st.SetPendingSteer(ctx, sessionID, text)
}

// AppendSteer implements agent.SteerStore.
func (a agentStore) AppendSteer(ctx context.Context, sessionID string, m store.Message) ([]store.Message, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return st.AppendSteer(ctx, sessionID, m)
}
