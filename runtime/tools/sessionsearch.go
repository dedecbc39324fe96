package tools

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// SessionHit is one message of an earlier session that matches a search.
type SessionHit struct {
	SessionID, Title, Role string
	// Excerpt is the part of the message around what matches.
	Excerpt string
	At      time.Time
}

// SessionSearcher finds what was said in the profile's sessions.
type SessionSearcher interface {
	// SearchSessions returns at most limit matches, the best first. session narrows the search to one session; empty
	// searches all.
	SearchSessions(ctx context.Context, query, session string, limit int) ([]SessionHit, error)
}

const (
	defaultHits = 10
	maxHits     = 50
	// maxExcerpt is how much of a hit is shown, in bytes.
	maxExcerpt = 600
)

type sessionSearchArgs struct {
	Query   string `json:"query"`
	Session string `json:"session_id"`
	Limit   int    `json:"limit"`
}

func (s *Set) sessionSearchTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "session_search",
			Description: "Search what was said in earlier sessions with this person. Use it when they refer to something that is not in this conversation.",
			Parameters: object(map[string]any{
				"query":      map[string]any{"type": "string", "minLength": 1, "maxLength": 500, "description": "Words to look for; all of them must occur."},
				"session_id": text("Search this session only."),
				"limit":      integer(fmt.Sprintf("How many results at most. Default %d.", defaultHits), 1, maxHits),
			}, "query"),
		},
		Toolset:   toolsetSessionSearch,
		Available: func() bool { return s.config.Sessions != nil },
		Missing:   "there is no store of sessions to search",
		Plan: func(c Call) (Plan, error) {
			a, err := decode[sessionSearchArgs](c)
			return Plan{Summary: "search earlier sessions for " + oneLine(a.Query), ReadOnly: true}, err
		},
		Handler: s.sessionSearch,
	}
}

func (s *Set) sessionSearch(ctx context.Context, c Call) (Result, error) {
	a, err := decode[sessionSearchArgs](c)
	if err != nil {
		return Result{}, err
	}
	if a.Limit == 0 {
		a.Limit = defaultHits
	}
	hits, err := s.config.Sessions.SearchSessions(ctx, a.Query, a.Session, a.Limit)
	if err != nil {
		return Result{}, err
	}
	if len(hits) == 0 {
		return Result{Content: "[nothing was found; try fewer or other words]"}, nil
	}
	var out strings.Builder
	for _, h := range hits {
		title := ""
		if h.Title != "" {
			title = " " + fmt.Sprintf("%q", oneLine(h.Title))
		}
		fmt.Fprintf(&out, "session %s%s, %s, %s:\n  %s\n", h.SessionID, title, h.At.UTC().Format(time.DateTime), h.Role, clip(flat(h.Excerpt), maxExcerpt))
	}
	return Result{Content: s.bounded(sanitize(out.String()))}, nil
}
