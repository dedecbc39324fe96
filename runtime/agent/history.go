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
	resultNotRun  = `{"error":"not run: the turn was interrupted before this tool call started"}`
	noReply       = "[The previous turn was interrupted before I could reply.]"
)

// Values of messages.effect_disposition and display_kind and finish_reason for such rows.
const (
	EffectUnknown     = "unknown"
	EffectNone        = "none"
	DisplayNotice     = "notice"
	finishInterrupted = "interrupted"
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
	answered := map[string]bool{}
	for i := len(rows) - 1; i >= 0; i-- {
		switch rows[i].Role {
		case llm.RoleTool:
			answered[rows[i].ToolCallID] = true
		case llm.RoleAssistant:
			var open []llm.ToolCall
			for _, c := range decodeCalls(rows[i].ToolCalls) {
				if !answered[c.ID] {
					open = append(open, c)
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
// one, never the call itself again, and unless the turn is resumed an assistant row that closes it, so that roles keep
// alternating (L2) and the rows before it stay the prefix they were.
func repair(rows []store.Message, resume bool) []store.Message {
	var out []store.Message
	for _, c := range unanswered(rows) {
		out = append(out, toolRow(c, resultUnknown, EffectUnknown))
	}
	if resume || len(rows) == 0 {
		return out
	}
	if last := rows[len(rows)-1]; len(out) > 0 || last.Role != llm.RoleAssistant {
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
	if len(rows) == 0 {
		return false
	}
	return rows[len(rows)-1].Role != llm.RoleAssistant || len(unanswered(rows)) > 0
}

// conversation builds the messages of a request from stored rows. Rows written by turns are legal as they are; those
// of an import or another version may not be, and a provider refuses all of a history for one bad row. The result for
// more rows starts with the result for fewer, as long as the fewer ended where a request was made. Implements L2.
func conversation(rows []store.Message) []llm.Message {
	out := make([]llm.Message, 0, len(rows)+2)
	for i := 0; i < len(rows); i++ {
		m := message(rows[i])
		switch m.Role {
		case llm.RoleUser:
			if n := len(out); n > 0 && out[n-1].Role != llm.RoleAssistant {
				out = append(out, message(closing()))
			}
			out = append(out, m)
		case llm.RoleAssistant:
			if n := len(out); n > 0 && out[n-1].Role == llm.RoleAssistant {
				out[n-1] = join(out[n-1], m)
			} else {
				out = append(out, m)
			}
			if len(m.ToolCalls) == 0 {
				continue
			}
			results := map[string]llm.Message{}
			for i+1 < len(rows) && rows[i+1].Role == llm.RoleTool {
				i++
				results[rows[i].ToolCallID] = message(rows[i])
			}
			for _, c := range m.ToolCalls {
				r, ok := results[c.ID]
				if !ok {
					r = message(toolRow(c, resultUnknown, EffectUnknown))
				}
				out = append(out, r)
			}
		}
	}
	return out
}

// join makes one of two assistant messages in a row, of which the first calls no tools.
func join(a, b llm.Message) llm.Message {
	if a.Content != "" && b.Content != "" {
		a.Content += "\n\n"
	}
	a.Content += b.Content
	a.ToolCalls, a.Native = b.ToolCalls, b.Native
	return a
}
