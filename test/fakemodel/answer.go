package fakemodel

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// answer plays one turn.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, d dialect, c Chat, t Turn) {
	if t.Gate != nil {
		select {
		case <-t.Gate:
		case <-r.Context().Done():
			return
		}
	}
	f := t.Fault
	switch {
	case f.NoHeaders:
		<-r.Context().Done()
	case f.RedirectTo != "":
		w.Header().Set("Location", f.RedirectTo)
		w.WriteHeader(http.StatusTemporaryRedirect)
	case f.Status != 0:
		fail(w, d, f)
	case c.Stream && !f.IgnoreStream:
		w.Header().Set("Content-Type", cmp.Or(f.ContentType, "text/event-stream"))
		w.WriteHeader(http.StatusOK)
		o := &out{w: w, ctx: r.Context(), fault: f}
		o.flush()
		stream(o, d, c, t)
	default:
		w.Header().Set("Content-Type", cmp.Or(f.ContentType, "application/json"))
		w.WriteHeader(http.StatusOK)
		o := &out{w: w, ctx: r.Context(), fault: f}
		b, _ := json.Marshal(d.whole(c, t))
		o.write(b)
	}
}

func fail(w http.ResponseWriter, d dialect, f Fault) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	if f.Body == "" {
		d.writeError(w, f.Status, f.Code, f.Type, cmp.Or(f.Message, http.StatusText(f.Status)))
		return
	}
	w.Header().Set("Content-Type", cmp.Or(f.ContentType, "application/json"))
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
}

func (t Turn) finish() string {
	if t.FinishReason == "" && len(t.ToolCalls) > 0 {
		return "tool_calls"
	}
	return cmp.Or(t.FinishReason, "stop")
}

// whole is the answer in one piece.
func (chat) whole(c Chat, t Turn) map[string]any {
	m := map[string]any{"role": "assistant", "content": t.Text, "refusal": nil}
	if t.Reasoning != "" {
		m["reasoning_content"] = t.Reasoning
	}
	if len(t.Native) > 0 {
		m["reasoning_details"] = t.Native
	}
	if len(t.ToolCalls) > 0 {
		if t.Text == "" {
			m["content"] = nil
		}
		calls := make([]any, 0, len(t.ToolCalls))
		for i, tc := range t.ToolCalls {
			piece := callPiece(t.Fault, i, tc, tc.Name, tc.Arguments)
			delete(piece, "index")
			calls = append(calls, piece)
		}
		m["tool_calls"] = calls
	}
	return map[string]any{
		"id": "chatcmpl-fake", "object": "chat.completion", "created": 1, "model": cmp.Or(c.Model, "fake-1"),
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": t.finish(), "logprobs": nil}},
		"usage":   usage(c, t),
	}
}

// usage reports the turn's numbers, or about a token for every four bytes.
func usage(c Chat, t Turn) map[string]any {
	u := t.Usage
	if u == (Usage{}) {
		for _, m := range c.Messages {
			u.Prompt += int64(len(m)+3) / 4
		}
		u.Completion = int64(len(t.Text)+3) / 4
		for _, tc := range t.ToolCalls {
			u.Completion += int64(len(tc.Name)+len(tc.Arguments)+3) / 4
		}
	}
	return map[string]any{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.Cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

func callPiece(f Fault, i int, tc ToolCall, name, args string) map[string]any {
	fn := map[string]any{"arguments": args}
	if f.ArgumentsAsObject {
		fn["arguments"] = json.RawMessage(args)
	}
	p := map[string]any{"index": i, "function": fn}
	if f.OmitIndex {
		delete(p, "index")
	} else if f.SameIndex {
		p["index"] = 0
	}
	if name != "" {
		fn["name"] = name
		p["type"] = "function"
		if !f.OmitID {
			p["id"] = tc.ID
		}
	}
	return p
}
