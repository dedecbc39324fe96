package markdown

import "strings"

// Stream cuts text that grows into blocks. What it hands out is final, and shown block by block it is what the whole text
// would be, however it was cut on its way.
type Stream struct {
	pending string
	lines   int // whole lines of pending when it was last looked at
}

// Add takes the next piece and returns the source of what is settled by it, "" when nothing is.
func (s *Stream) Add(piece string) string {
	s.pending += piece
	lines := strings.Count(s.pending, "\n")
	if lines == s.lines {
		return ""
	}
	n := settled(s.pending)
	done := s.pending[:n]
	s.pending = s.pending[n:]
	s.lines = strings.Count(s.pending, "\n")
	return done
}

// Tail is the source of what may still change, without a beginning of a line that says nothing yet: two backticks are
// half a fence more often than they are text.
func (s *Stream) Tail() string {
	start := strings.LastIndexByte(s.pending, '\n') + 1
	if strings.Trim(s.pending[start:], " `~-=*+_#>|:0123456789.)") == "" {
		return s.pending[:start]
	}
	return s.pending
}

// End returns the rest.
func (s *Stream) End() string {
	rest := s.pending
	*s = Stream{}
	return rest
}
