package agent

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/llm"
)

// TestSize: a message of 40 bytes is 10 tokens and 4 of overhead; what the server counted takes the estimate's place, and
// another history begins anew.
func TestSize(t *testing.T) {
	m := llm.Message{Role: llm.RoleUser, Content: strings.Repeat("x", 40)}
	history := []llm.Message{m, m}
	var s size
	check := func(want int64) {
		t.Helper()
		if got := s.of(history, nil); got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	}
	check(28)
	history = append(history, m)
	check(42)
	s.learn(llm.Usage{}, 3) // a server that counts nothing
	check(42)
	s.learn(llm.Usage{Input: 60, CacheRead: 30, CacheWrite: 10}, 3)
	check(100)
	history = append(history, m)
	check(114)
	s.reset()
	check(56)
	s.learn(llm.Usage{Input: 100}, 4)
	history = history[:1]
	check(14)
	if n := s.of(history, []llm.ToolDefinition{{Name: "t"}}); n <= 14 || s.of(history, nil) != n {
		t.Errorf("with tools %d", n)
	}
}

// BenchmarkSize counts a session of 400 messages of 600 bytes: anew, as at the beginning of a turn, and with one message
// more, as before each further request.
func BenchmarkSize(b *testing.B) {
	m := llm.Message{Role: llm.RoleAssistant, Content: strings.Repeat("blah ", 120)}
	history := make([]llm.Message, 400)
	for i := range history {
		history[i] = m
	}
	b.Run("turn", func(b *testing.B) {
		for b.Loop() {
			var s size
			s.of(history, nil)
		}
	})
	b.Run("request", func(b *testing.B) {
		var s size
		s.of(history[:399], nil)
		at := s
		for b.Loop() {
			s = at
			s.of(history, nil)
		}
	})
}
