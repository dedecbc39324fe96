package profile

import (
	"context"
	"strings"

	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

const (
	// searchedSessions is how many of the newest sessions are looked into.
	searchedSessions = 200
	// excerptAround is how much of a message is shown before and after what matches, in bytes.
	excerptAround = 200
)

// sessionSearcher finds what was said in a profile's sessions: messages in which every word occurs, newest session
// first.
type sessionSearcher struct{ lazy *lazyStore }

var _ tools.SessionSearcher = sessionSearcher{}

// SearchSessions implements tools.SessionSearcher.
func (s sessionSearcher) SearchSessions(ctx context.Context, query, session string, limit int) ([]tools.SessionHit, error) {
	st, release, err := s.lazy.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	sessions, err := st.Sessions(ctx, store.ListOptions{Limit: searchedSessions, Archived: true})
	if err != nil {
		return nil, err
	}
	words := strings.Fields(strings.ToLower(query))
	var hits []tools.SessionHit
	for _, se := range sessions {
		if session != "" && se.ID != session {
			continue
		}
		rows, err := st.Messages(ctx, se.ID)
		if err != nil {
			return nil, err
		}
		for _, m := range rows {
			excerpt, ok := excerptOf(m.Content, words)
			if !ok || (m.Role != "user" && m.Role != "assistant") {
				continue
			}
			hits = append(hits, tools.SessionHit{SessionID: se.ID, Title: se.Title, Role: m.Role, Excerpt: excerpt, At: m.Timestamp})
			if len(hits) == limit {
				return hits, nil
			}
		}
	}
	return hits, nil
}

// excerptOf gives the surroundings of the first word when every word occurs in a text.
func excerptOf(text string, words []string) (string, bool) {
	lower := strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(lower, w) {
			return "", false
		}
	}
	if len(words) == 0 {
		return "", false
	}
	at := strings.Index(lower, words[0])
	from, to := max(0, at-excerptAround), min(len(lower), at+excerptAround)
	// Offsets in the lower-case text may fall elsewhere in the original one, where a letter's cases differ in length.
	return strings.ToValidUTF8(text[min(from, len(text)):min(to, len(text))], ""), true
}
