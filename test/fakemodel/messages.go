package fakemodel

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// messagesPath is where the messages dialect is served.
const messagesPath = "/anthropic"

// messages is the Anthropic messages API.
type messages struct{}

func (messages) keepalive() string { return "event: ping\ndata: {\"type\":\"ping\"}\n\n" }

func (messages) writeError(w http.ResponseWriter, status int, code, typ, message string) {
	byStatus := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "request_id": "req_fake",
		"error": map[string]any{"type": cmp.Or(typ, code, byStatus[status], "api_error"), "message": message}})
}

func (messages) finish(t Turn) string {
	switch t.FinishReason {
	case "":
		if len(t.ToolCalls) > 0 {
			return "tool_use"
		}
		return "end_turn"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	}
	return t.FinishReason
}

func (messages) usage(c Chat, t Turn) map[string]any {
	u := t.Usage
	if u == (Usage{}) {
		for _, m := range c.Messages {
			u.Prompt += int64(len(m)+3) / 4
		}
		u.Completion = int64(len(t.Text)+3) / 4
	}
	return map[string]any{
		"input_tokens": u.Prompt - u.Cached - u.CacheWrite, "output_tokens": u.Completion,
		"cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite,
		"output_tokens_details": map[string]any{"thinking_tokens": u.Reasoning},
	}
}

// part is one block of an answer: how it begins, and its pieces.
type part struct {
	start  map[string]any
	kind   string // of the deltas
	field  string
	pieces []string
	whole  map[string]any
}

// parts are the blocks of a turn in the order the API has: thinking, opaque blocks, text, calls.
func (messages) parts(t Turn) []part {
	size := cmp.Or(t.ChunkSize, 8)
	var out []part
	if t.Reasoning != "" {
		out = append(out, part{
			start: map[string]any{"type": "thinking", "thinking": "", "signature": ""}, kind: "thinking_delta", field: "thinking", pieces: pieces(t.Reasoning, size),
			whole: map[string]any{"type": "thinking", "thinking": t.Reasoning, "signature": t.Signature},
		})
	}
	for _, raw := range t.Native {
		var b map[string]any
		_ = json.Unmarshal(raw, &b)
		out = append(out, part{start: b, whole: b})
	}
	if t.Text != "" {
		out = append(out, part{
			start: map[string]any{"type": "text", "text": ""}, kind: "text_delta", field: "text", pieces: pieces(t.Text, size),
			whole: map[string]any{"type": "text", "text": t.Text},
		})
	}
	for _, tc := range t.ToolCalls {
		start := map[string]any{"type": "tool_use", "id": tc.ID, "name": tc.Name, "input": map[string]any{}}
		whole := map[string]any{"type": "tool_use", "id": tc.ID, "name": tc.Name, "input": json.RawMessage(cmp.Or(tc.Arguments, "{}"))}
		if t.Fault.OmitID {
			delete(start, "id")
			delete(whole, "id")
		}
		if t.Fault.ArgumentsAsObject {
			out = append(out, part{start: whole, whole: whole})
			continue
		}
		out = append(out, part{start: start, kind: "input_json_delta", field: "partial_json", pieces: pieces(tc.Arguments, size), whole: whole})
	}
	return out
}

func (d messages) whole(c Chat, t Turn) map[string]any {
	content := []any{}
	for _, p := range d.parts(t) {
		content = append(content, p.whole)
	}
	return map[string]any{
		"id": "msg_fake", "type": "message", "role": "assistant", "model": cmp.Or(c.Model, "fake-1"), "content": content,
		"stop_reason": d.finish(t), "stop_sequence": nil, "usage": d.usage(c, t),
	}
}

// stream plays a turn as events of the messages API.
func (d messages) stream(o *out, c Chat, t Turn) {
	f, usage := t.Fault, d.usage(c, t)
	begin := map[string]any{}
	for k, v := range usage {
		begin[k] = v
	}
	begin["output_tokens"] = 1
	send := func(name string, v map[string]any) bool {
		for range t.Keepalives {
			o.write([]byte(": keepalive\n\n" + d.keepalive()))
		}
		v["type"] = name
		return o.named(name, v)
	}
	send("message_start", map[string]any{"message": map[string]any{
		"id": "msg_fake", "type": "message", "role": "assistant", "model": cmp.Or(c.Model, "fake-1"), "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": begin,
	}})
	sent := false
	for i, p := range d.parts(t) {
		if !send("content_block_start", map[string]any{"index": i, "content_block": p.start}) {
			return
		}
		if !sent {
			sent = true
			switch {
			case f.Malformed:
				o.write([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",oops\n\n"))
			case f.StreamError:
				send("error", map[string]any{"error": map[string]any{"type": cmp.Or(f.Type, f.Code, "api_error"), "message": cmp.Or(f.Message, "The server had an error")}})
				return
			}
		}
		if !d.deltas(i, p, t, send) {
			return
		}
	}
	if f.NoFinish {
		return
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": d.finish(t), "stop_sequence": nil}, "usage": usage})
	if !f.NoDone {
		send("message_stop", map[string]any{})
	}
}

// deltas sends the pieces of one block and its end.
func (messages) deltas(i int, p part, t Turn, send func(string, map[string]any) bool) bool {
	index := i
	if t.Fault.WrongIndex {
		index += 7
	}
	list := make([]map[string]any, 0, len(p.pieces)+1)
	for _, s := range p.pieces {
		list = append(list, map[string]any{"type": p.kind, p.field: s})
	}
	if p.kind == "thinking_delta" && t.Signature != "" {
		list = append(list, map[string]any{"type": "signature_delta", "signature": t.Signature})
	}
	for _, delta := range list {
		if !send("content_block_delta", map[string]any{"index": index, "delta": delta}) {
			return false
		}
	}
	return send("content_block_stop", map[string]any{"index": i})
}
