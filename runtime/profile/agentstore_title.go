package profile

import "context"

// Rewind implements agent.Store.
func (a agentStore) Rewind(ctx context.Context, sessionID string, from int64) (int64, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	return st.Rewind(ctx, sessionID, from)
}

// Entitle implements agent.Store.
func (a agentStore) Entitle(ctx context.Context, id, title, source string) (string, bool, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return "", false, err
	}
	defer release()
	return st.Entitle(ctx, id, title, source)
}
