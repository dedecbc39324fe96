package llm

import "encoding/json"

// continued joins an answer that the server paused and what it said when it was asked to go on: one message, whose
// opaque blocks keep their order.
func continued(a, b Response, host string) Response {
	joined := native{}
	for _, m := range []Message{a.Message, b.Message} {
		joined.Blocks = append(joined.Blocks, placed(m, host)...)
	}
	b.Usage = a.Usage.Add(b.Usage)
	b.Message.Content = a.Message.Content + b.Message.Content
	b.Message.Reasoning = a.Message.Reasoning + b.Message.Reasoning
	b.Message.ToolCalls = append(a.Message.ToolCalls[:len(a.Message.ToolCalls):len(a.Message.ToolCalls)], b.Message.ToolCalls...)
	if len(a.Message.Native)+len(b.Message.Native) > 0 {
		b.Message.Native = joined.encode(host)
	}
	return b
}

// placed is the layout of a message, made from its text and calls when the message has none.
func placed(m Message, host string) []json.RawMessage {
	if n, ok := nativeOf(m, host); ok {
		return n.Blocks
	}
	var out []json.RawMessage
	if m.Content != "" {
		out = append(out, mustJSON(place{Place: "text", Bytes: len(m.Content)}))
	}
	for range m.ToolCalls {
		out = append(out, mustJSON(place{Place: "call"}))
	}
	return out
}
