package profile

import (
	"context"
	"errors"
	"strings"

	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// sessionSearcher finds what was said in a profile's sessions by the store's full-text index.
type sessionSearcher struct{ lazy *lazyStore }

var _ tools.SessionSearcher = sessionSearcher{}

// unmarked takes the marks around matches away: a model reads the words by itself.
var unmarked = strings.NewReplacer(store.MatchStart, "", store.MatchEnd, "")

// SearchSessions implements tools.SessionSearcher. What tools have answered is not searched: it is long, and seldom
// what somebody remembers.
func (s sessionSearcher) SearchSessions(ctx context.Context, query, session string, limit int) ([]tools.SessionHit, error) {
	st, release, err := s.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var hits []tools.SessionHit
	for _, role := range []string{"user", "assistant"} {
		found, err := st.Search(ctx, store.SearchOptions{Query: query, SessionID: session, Role: role, Limit: limit})
		if errors.Is(err, store.ErrEmptyQuery) {
			return nil, errors.New("the query has no words to look for")
		}
		if err != nil {
			return nil, err
		}
		for _, h := range found.Hits {
			hits = append(hits, tools.SessionHit{SessionID: h.SessionID, Title: h.Title, Role: h.Role, Excerpt: unmarked.Replace(h.Snippet), At: h.At})
		}
	}
	return interleaved(hits, limit), nil
}

// interleaved takes turns between what people and what the agent said, each best first, up to limit.
func interleaved(hits []tools.SessionHit, limit int) []tools.SessionHit {
	var said, answered, out []tools.SessionHit
	for _, h := range hits {
		if h.Role == "user" {
			said = append(said, h)
		} else {
			answered = append(answered, h)
		}
	}
	for len(out) < limit && len(said)+len(answered) > 0 {
		if len(said) > 0 {
			out, said = append(out, said[0]), said[1:]
		}
		if len(answered) > 0 && len(out) < limit {
			out, answered = append(out, answered[0]), answered[1:]
		}
	}
	return out
}
