package fakemodel

import (
	"bytes"
	"context"
	"fmt"
)

// DefaultTitle is what the server names every conversation that it is asked to name.
const DefaultTitle = "A Fitting Title"

// titleMark begins the system prompt of a request for a title. Such requests come in the background, so they take no
// turn of the script and are recorded apart: a test says what happens in its conversations only.
const titleMark = "You name conversations."

func asksForTitle(r Request) bool { return bytes.Contains(r.Body, []byte(titleMark)) }

// Title makes t the answer to every request for a title.
func (s *Server) Title(t Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title = t
}

// TitleRequests gives the requests for a title so far.
func (s *Server) TitleRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.titles...)
}

// WaitTitles waits until at least n requests for a title have arrived.
func (s *Server) WaitTitles(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		have, next := append([]Request(nil), s.titles...), s.arrived
		s.mu.Unlock()
		if len(have) >= n {
			return have, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return have, fmt.Errorf("%d of %d requests for a title arrived: %w", len(have), n, ctx.Err())
		}
	}
}
