package compaction

import (
	"encoding/json"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// rowOverhead is what a message costs beside its text, in tokens: its role and the marks around it.
const rowOverhead = 4

// displaySteer is the display kind of a message that the person sent into a running turn.
const displaySteer = "steer"

// storedCall is a tool call as messages.tool_calls keeps it.
type storedCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func callsOf(r store.Message) []storedCall {
	var out []storedCall
	if r.Role != llm.RoleAssistant || len(r.ToolCalls) == 0 || json.Unmarshal(r.ToolCalls, &out) != nil {
		return nil
	}
	return out
}

// callsTools reports whether results follow the row.
func callsTools(r store.Message) bool { return r.Role == llm.RoleAssistant && len(r.ToolCalls) > 0 }

// sent is the text that the model gets.
func sent(r store.Message) string {
	if r.APIContent != "" {
		return r.APIContent
	}
	return r.Content
}

// Tokens estimates what a row costs in a request, what a provider wants back verbatim included.
func Tokens(r store.Message) int64 {
	n := llm.EstimateTokens(sent(r)) + llm.EstimateTokens(string(r.ReasoningDetails)) + rowOverhead
	for _, c := range callsOf(r) {
		n += llm.EstimateTokens(c.Function.Name) + llm.EstimateTokens(c.Function.Arguments)
	}
	return n
}

// MessageTokens is Tokens of a message as it is sent.
func MessageTokens(m llm.Message) int64 {
	n := llm.EstimateTokens(m.Content) + llm.EstimateTokens(string(m.Native)) + rowOverhead
	for _, c := range m.ToolCalls {
		n += llm.EstimateTokens(c.Name) + llm.EstimateTokens(c.Arguments)
	}
	return n
}

// TotalTokens sums Tokens.
func TotalTokens(rows []store.Message) (n int64) {
	for _, r := range rows {
		n += Tokens(r)
	}
	return n
}

// fromPerson reports whether a person said the row: a steering message counts, a message of another session, a
// summary or a notice does not. Implements P-32.
func fromPerson(r store.Message) bool {
	return r.Role == llm.RoleUser && !r.CompressedSummary && !r.Observed && (r.DisplayKind == "" || r.DisplayKind == displaySteer)
}

// isReply reports whether the row is something the agent said to the person.
func isReply(r store.Message) bool {
	return r.Role == llm.RoleAssistant && !callsTools(r) && !r.CompressedSummary && r.DisplayKind == "" && r.Content != ""
}
