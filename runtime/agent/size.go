package agent

import (
	"encoding/json"

	"hermes.dev/hermes/runtime/agent/compaction"
	"hermes.dev/hermes/runtime/llm"
)

// size keeps count of how large the next request is, in tokens, without reading the whole history for each one.
type size struct {
	fixed   int64 // the tools; set once
	counted int   // messages of the history in tokens
	tokens  int64
	// real is what the server said the prompt of the last request had, and at how many messages; 0 is unknown. It takes
	// the place of the estimate for those messages.
	real   int64
	realAt int
	// idleUntil is at how many messages a preflight is worth another look.
	idleUntil int
}

// of is how large a request with these messages is.
func (s *size) of(history []llm.Message, defs []llm.ToolDefinition) int64 {
	if s.fixed == 0 && len(defs) > 0 {
		if text, err := json.Marshal(defs); err == nil {
			s.fixed = llm.EstimateTokens(string(text))
		}
	}
	if s.counted > len(history) || s.realAt > len(history) {
		s.reset()
	}
	for ; s.counted < len(history); s.counted++ {
		s.tokens += compaction.MessageTokens(history[s.counted])
	}
	if s.real == 0 {
		return s.fixed + s.tokens
	}
	n := s.real
	for _, m := range history[s.realAt:] {
		n += compaction.MessageTokens(m)
	}
	return n
}

// learn takes what the server counted for a request with so many messages.
func (s *size) learn(u llm.Usage, messages int) {
	if n := u.Input + u.CacheRead + u.CacheWrite; n > 0 {
		s.real, s.realAt = n, messages
	}
}

// reset forgets what was counted: the history is another one.
func (s *size) reset() { *s = size{fixed: s.fixed} }
