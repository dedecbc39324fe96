package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Texts that stand where the protocol demands one and the conversation has none.
const (
	emptyText    = "(no content)"
	leadingUser  = "(the conversation continues)"
	invalidInput = "invalid_arguments"
)

// encodeMessages builds the body of a request of DialectMessages.
func encodeMessages(r Request, rt Route, w rewrites) ([]byte, error) {
	out := messagesRequest{Model: r.Model, Stream: !r.NoStream, MaxTokens: r.MaxTokens, Temperature: r.Temperature}
	if out.MaxTokens == 0 {
		out.MaxTokens = defaultMaxTokens
	}
	if w.maxTokens > 0 {
		out.MaxTokens = min(out.MaxTokens, w.maxTokens)
	}
	if r.NoThinking {
		out.Thinking = &thinkingParam{Type: "disabled"}
	}
	for _, t := range r.Tools {
		schema := t.Parameters
		if schema == nil {
			schema = map[string]any{"type": "object"}
		}
		out.Tools = append(out.Tools, toolParam{Name: t.Name, Description: t.Description, InputSchema: schema})
	}
	plan := planMarks(r, rt)
	if plan.tool {
		out.Tools[len(out.Tools)-1].CacheControl = plan.control()
	}
	out.System = systemBlocks(r, plan)
	out.Messages = turns(r.Messages, rt.Host(), plan)
	return json.Marshal(out)
}

// turns maps messages to the protocol's alternating turns: the results of parallel calls, and what a person says after
// them, are one user turn.
func turns(msgs []Message, host string, plan marks) []messageParam {
	out := make([]messageParam, 0, len(msgs))
	leading := true
	for i, m := range msgs {
		if leading = leading && m.Role == RoleSystem; leading {
			continue // in the request's own field
		}
		role, content := RoleUser, []contentBlock(nil)
		switch m.Role {
		case RoleAssistant:
			role, content = RoleAssistant, assistantBlocks(m, host)
		case RoleTool:
			content = []contentBlock{{Type: "tool_result", ToolUseID: wireID(m.ToolCallID), Content: m.Content}}
		default:
			content = []contentBlock{{Type: "text", Text: textOr(m.Content)}}
		}
		if plan.on(i) {
			mark(content, plan.control())
		}
		if len(out) == 0 && role == RoleAssistant {
			out = append(out, messageParam{Role: RoleUser, Content: []contentBlock{{Type: "text", Text: leadingUser}}})
		}
		if n := len(out) - 1; n >= 0 && out[n].Role == role {
			out[n].Content = append(out[n].Content, content...)
			continue
		}
		out = append(out, messageParam{Role: role, Content: content})
	}
	return out
}

// assistantBlocks gives the blocks of an answer: in the layout the server made when it is known and fits, else what
// the server wants back, the text and the calls in this order.
func assistantBlocks(m Message, host string) []contentBlock {
	var opaque []contentBlock
	if n, ok := nativeOf(m, host); ok {
		if laid, ok := layout(n.Blocks, m); ok {
			return laid
		}
		for _, raw := range n.Blocks {
			if placeholder(raw) == nil {
				opaque = append(opaque, contentBlock{raw: raw})
			}
		}
	}
	out := opaque
	if strings.TrimSpace(m.Content) != "" {
		out = append(out, contentBlock{Type: "text", Text: m.Content})
	}
	for _, c := range m.ToolCalls {
		out = append(out, toolUse(c))
	}
	if len(out) == 0 {
		out = append(out, contentBlock{Type: "text", Text: emptyText})
	}
	return out
}

// place stands in a layout for what the message itself holds: so many bytes of the text, or the next call.
type place struct {
	Place string `json:"place"`
	Bytes int    `json:"bytes,omitempty"`
}

func placeholder(raw json.RawMessage) *place {
	var p place
	if json.Unmarshal(raw, &p) != nil || p.Place == "" {
		return nil
	}
	return &p
}

// layout puts text and calls back between the opaque blocks. It fails when the message is not what the layout was
// made of, which a rewritten history may be.
func layout(raws []json.RawMessage, m Message) ([]contentBlock, bool) {
	text, calls := m.Content, m.ToolCalls
	var out []contentBlock
	for _, raw := range raws {
		p := placeholder(raw)
		switch {
		case p == nil:
			out = append(out, contentBlock{raw: raw})
		case p.Place == "text":
			if p.Bytes < 0 || p.Bytes > len(text) {
				return nil, false
			}
			if piece := text[:p.Bytes]; strings.TrimSpace(piece) != "" {
				out = append(out, contentBlock{Type: "text", Text: piece})
			}
			text = text[p.Bytes:]
		default:
			if len(calls) == 0 {
				return nil, false
			}
			out = append(out, toolUse(calls[0]))
			calls = calls[1:]
		}
	}
	return out, text == "" && len(calls) == 0 && len(out) > 0
}

// toolUse is a call as a block. Arguments that are no JSON object, which the protocol refuses, are shown to the model as
// what they are.
func toolUse(c ToolCall) contentBlock {
	input := json.RawMessage(bytes.TrimSpace([]byte(c.Arguments)))
	switch {
	case len(input) == 0:
		input = json.RawMessage("{}")
	case input[0] != '{' || !json.Valid(input):
		b, err := json.Marshal(map[string]string{invalidInput: c.Arguments})
		if err != nil {
			b = []byte("{}")
		}
		input = b
	}
	return contentBlock{Type: "tool_use", ID: wireID(c.ID), Name: wireName(c.Name), Input: input}
}

// wireID makes a call id of another server one that the protocol accepts. Equal ids stay equal.
func wireID(id string) string {
	if id == "" {
		return "call"
	}
	return safeWord(id, len(id))
}

// wireName does the same with the name of a tool the model made up.
func wireName(name string) string {
	if name == "" {
		return "unknown"
	}
	return safeWord(name, 128)
}

func safeWord(s string, most int) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s[:min(len(s), most)])
}

func textOr(s string) string {
	if strings.TrimSpace(s) == "" {
		return emptyText
	}
	return s
}
