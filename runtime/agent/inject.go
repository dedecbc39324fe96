package agent

import (
	"slices"
	"strings"

	"hermes.dev/hermes/runtime/llm"
)

// injected gives the messages of a request: the history, and at its end what belongs to this request only. The history
// is not touched, so nothing of it is ever stored, and every message before the last stays the prefix it was.
// Implements L4.
func injected(history []llm.Message, texts []string) []llm.Message {
	text := strings.Join(texts, "\n\n")
	if text == "" {
		return history
	}
	// A copy: joining with the last message writes into it.
	return appendMessage(slices.Clone(history), llm.Message{Role: llm.RoleUser, Content: text})
}
