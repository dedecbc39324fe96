package profile

import "context"

// Entitle implements agent.Store.
func (a agentStore) Entitle(ctx context.Context, id, title, source string) (string, bool, error) {
	st, release, err := a.lazy.acquire(ctx)
	if err != nil {
		return "", false, err
	}
	defer release()
	return st.Entitle(ctx, id, title, source)
}
