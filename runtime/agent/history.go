package agent

import (
	"encoding/json"
	"fmt"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// What an interrupted turn leaves in the history. The texts are for the model: it must neither repeat a call blindly
// nor believe that it happened.
const (
	resultUnknown = `{"error":"interrupted: the agent stopped while this tool call was running, and its effect is unknown; check before calling it again"}`
	resultLost    = `{"error":"interrupted: the agent stopped before the result of this tool call was kept; it changed nothing, so call it again if you need it"}`
	resultNotRun  = `{"error":"not run: the turn was interrupted before this tool call started"}`
	noReply       = "[The previous turn was interrupted before I could reply.]"
)

// Values of messages.effect_disposition and finish_reason for such rows.
const (
	EffectUnknown     = "unknown"
	EffectNone        = "none"
	finishInterrupted = "interrupted"
)

// Values of messages.display_kind. All of them are part of the conversation.
const (
	// DisplayNotice is a row that the program wrote, not a person or a model.
	DisplayNotice = "notice"
	// DisplaySteer is what a person said to a running turn (P-35).
	DisplaySteer = "steer"
	// DisplayPeer is what another session of the person said (P-24).
	DisplayPeer = "peer_message"
)

// storedCall is a tool call as messages.tool_calls keeps it, the OpenAI shape (L2).
type storedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// encodeCalls writes the calls of an assistant row.
func encodeCalls(calls []llm.ToolCall) (json.RawMessage, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	out := make([]storedCall, len(calls))
	for i, c := range calls {
		out[i].ID, out[i].Type = c.ID, "function"
		out[i].Function.Name, out[i].Function.Arguments = c.Name, c.Arguments
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("writing tool calls: %w", err)
	}
	return b, nil
}

// decodeCalls reads them; a row that cannot be read has none, and its results are dropped with it.
func decodeCalls(raw json.RawMessage) []llm.ToolCall {
	if len(raw) == 0 {
		return nil
	}
	var in []storedCall
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	out := make([]llm.ToolCall, len(in))
	for i, c := range in {
		out[i] = llm.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
	}
	return out
}

// message turns a stored row into what the model gets.
func message(r store.Message) llm.Message {
	m := llm.Message{Role: r.Role, Content: r.Content, ToolCallID: r.ToolCallID, Name: r.ToolName}
	if r.APIContent != "" {
		m.Content = r.APIContent
	}
	if r.Role == llm.RoleAssistant {
		m.ToolCalls, m.Native = decodeCalls(r.ToolCalls), r.ReasoningDetails
	}
	return m
}

// assistantRow is the row of a model's answer.
func assistantRow(r llm.Response) (store.Message, error) {
	calls, err := encodeCalls(r.Message.ToolCalls)
	if err != nil {
		return store.Message{}, err
	}
	row := store.Message{
		Role: llm.RoleAssistant, Content: r.Message.Content, Reasoning: r.Message.Reasoning,
		ReasoningDetails: r.Message.Native, ToolCalls: calls, FinishReason: r.FinishReason,
	}
	if n := r.Usage.Output; n > 0 {
		row.TokenCount = &n
	}
	return row, nil
}

func toolRow(c llm.ToolCall, content, effect string) store.Message {
	return store.Message{Role: llm.RoleTool, Content: content, ToolCallID: c.ID, ToolName: c.Name, EffectDisposition: effect}
}

// unanswered lists the calls of the last assistant row that have no result. Only the tail can have such calls: every
// later turn begins by answering them.
func unanswered(rows []store.Message) []llm.ToolCall {
	for i := len(rows) - 1; i >= 0; i-- {
		switch rows[i].Role {
		case llm.RoleTool:
		case llm.RoleAssistant:
			calls := decodeCalls(rows[i].ToolCalls)
			var open []llm.ToolCall
			for n, answer := range answersOf(calls, rows[i+1:]) {
				if answer == nil {
					open = append(open, calls[n])
				}
			}
			return open
		default:
			return nil
		}
	}
	return nil
}

// repair gives the rows that must follow an unfinished history before the next turn: a result for every call without
// one, never the call itself again, and an assistant row that closes the turn, so that roles keep alternating (L2) and
// the rows before it stay the prefix they were. readsOnly says of which calls it is known that they changed nothing.
func repair(rows []store.Message, readsOnly func(llm.ToolCall) bool) []store.Message {
	var out []store.Message
	for _, c := range unanswered(rows) {
		if readsOnly(c) {
			out = append(out, toolRow(c, resultLost, EffectNone))
		} else {
			out = append(out, toolRow(c, resultUnknown, EffectUnknown))
		}
	}
	if resumable(rows) {
		out = append(out, closing())
	}
	return out
}

func closing() store.Message {
	return store.Message{Role: llm.RoleAssistant, Content: noReply, FinishReason: finishInterrupted, DisplayKind: DisplayNotice}
}

// Unfinished reports whether the rows of a session end in the middle of a turn, so that Turn.Resume can continue it.
func Unfinished(rows []store.Message) bool { return resumable(rows) }

// resumable reports whether the rows end in the middle of a turn.
func resumable(rows []store.Message) bool {
	if n := len(rows); n > 0 && rows[n-1].Role == llm.RoleAssistant && len(rows[n-1].ToolCalls) == 0 && sent(rows[n-1]) != "" {
		return false // nearly always, and it must not cost a walk through all rows
	}
	legal := Alternate(rows)
	return len(legal) > 0 && legal[len(legal)-1].Role != llm.RoleAssistant
}

// conversation builds the messages of a request from stored rows, whoever wrote them: a provider refuses all of a
// history for one bad row. Implements L2.
func conversation(rows []store.Message) []llm.Message { return wire(Alternate(rows)) }

// wire gives legal rows as messages; user rows that the store keeps apart become one message. Implements P-30.
func wire(legal []store.Message) []llm.Message {
	out := make([]llm.Message, 0, len(legal)+2)
	for _, row := range legal {
		out = appendMessage(out, message(row))
	}
	return out
}

// appendMessage appends a message, or joins it with the last one when both are a person's.
func appendMessage(ms []llm.Message, m llm.Message) []llm.Message {
	if n := len(ms); n > 0 && m.Role == llm.RoleUser && ms[n-1].Role == llm.RoleUser {
		ms[n-1].Content = paragraphs(ms[n-1].Content, m.Content)
		return ms
	}
	return append(ms, m)
}
