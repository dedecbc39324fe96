package fakemodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
)

// out writes a body and misbehaves at the byte the fault names. After that every write is ignored.
type out struct {
	w     http.ResponseWriter
	ctx   context.Context
	fault Fault
	n     int
	dead  bool
}

// write sends b, flushed, and reports whether the answer may go on.
func (o *out) write(b []byte) bool {
	for len(b) > 0 && !o.dead {
		part := b
		if o.fault.ByteByByte {
			part = b[:1]
		}
		if limit := cmp.Or(o.fault.StallAfter, o.fault.TruncateAfter, o.fault.ResetAfter); limit > 0 {
			if o.n >= limit {
				o.die()
				return false
			}
			part = part[:min(len(part), limit-o.n)]
		}
		if _, err := o.w.Write(part); err != nil {
			o.dead = true
			return false
		}
		o.n += len(part)
		b = b[len(part):]
		if o.fault.ByteByByte {
			o.flush()
		}
	}
	o.flush()
	return !o.dead && o.ctx.Err() == nil
}

func (o *out) die() {
	o.dead = true
	o.flush()
	switch {
	case o.fault.StallAfter > 0:
		<-o.ctx.Done()
	case o.fault.ResetAfter > 0:
		panic(http.ErrAbortHandler) // net/http's way to drop the connection
	}
}

func (o *out) flush() {
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (o *out) event(v any) bool { return o.named("", v) }

// named writes an event with a name.
func (o *out) named(name string, v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a script with arguments that cannot be sent as an object
	}
	line := "data: " + string(b) + "\n\n"
	if name != "" {
		line = "event: " + name + "\n" + line
	}
	return o.write([]byte(line))
}

// stream plays a turn as events.
func stream(o *out, d dialect, c Chat, t Turn) {
	f := t.Fault
	switch {
	case f.NoFirstByte:
		<-o.ctx.Done()
		return
	case f.KeepaliveOnly:
		for o.write([]byte(": keepalive\n\n" + d.keepalive())) {
		}
		return
	case f.HugeBody:
		filler := bytes.Repeat([]byte{'x'}, 32<<10)
		for ok := o.write([]byte(`data: {"type":"content_block_delta","choices":[{"delta":{"content":"`)); ok; ok = o.write(filler) {
		}
		return
	}
	d.stream(o, c, t)
}

func (chat) keepalive() string { return "data:\n\n" }

// stream plays a turn as chat completions events.
func (chat) stream(o *out, c Chat, t Turn) {
	f := t.Fault
	p := player{o: o, model: cmp.Or(c.Model, "fake-1"), turn: t}
	if !p.content() {
		return
	}
	if f.NoFinish {
		return
	}
	p.chunk(map[string]any{}, t.finish())
	var opts struct {
		IncludeUsage bool `json:"include_usage"`
	}
	_ = json.Unmarshal(c.StreamOptions, &opts)
	if opts.IncludeUsage {
		o.event(p.envelope([]any{}, usage(c, t)))
	}
	if !f.NoDone {
		o.write([]byte("data: [DONE]\n\n"))
	}
}

// player writes the events of one turn.
type player struct {
	o     *out
	model string
	turn  Turn
	sent  bool
}

func (p *player) envelope(choices []any, usage any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": p.model, "choices": choices, "usage": usage,
	}
}

// chunk writes one event, with the keepalives and the mid-stream fault that belong around it.
func (p *player) chunk(delta map[string]any, finish string) bool {
	for range p.turn.Keepalives {
		p.o.write([]byte(": keepalive\n\ndata:\n\n"))
	}
	var fin any
	if finish != "" {
		fin = finish
	}
	if !p.o.event(p.envelope([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": fin}}, nil)) {
		return false
	}
	if p.sent {
		return true
	}
	p.sent = true
	switch f := p.turn.Fault; {
	case f.Malformed:
		p.o.write([]byte("data: {\"choices\":[{\"delta\":{\"content\":oops\n\n"))
	case f.StreamError:
		p.o.event(map[string]any{"error": map[string]any{
			"message": cmp.Or(f.Message, "The server had an error"), "code": cmp.Or(f.Code, "server_error"), "type": cmp.Or(f.Type, "server_error"),
		}})
		return false
	}
	return true
}

// content writes the reasoning, the text and the calls, each in pieces.
func (p *player) content() bool {
	size := cmp.Or(p.turn.ChunkSize, 8)
	if !p.chunk(map[string]any{"role": "assistant", "content": ""}, "") {
		return false
	}
	for i, raw := range p.turn.Native {
		var item map[string]any
		_ = json.Unmarshal(raw, &item)
		item["index"] = i
		if !p.chunk(map[string]any{"reasoning_details": []any{item}}, "") {
			return false
		}
	}
	for _, s := range pieces(p.turn.Reasoning, size) {
		if !p.chunk(map[string]any{"reasoning_content": s}, "") {
			return false
		}
	}
	for _, s := range pieces(p.turn.Text, size) {
		if !p.chunk(map[string]any{"content": s}, "") {
			return false
		}
	}
	return p.calls(size)
}

func (p *player) calls(size int) bool {
	f := p.turn.Fault
	call := func(m map[string]any) bool { return p.chunk(map[string]any{"tool_calls": []any{m}}, "") }
	for i, tc := range p.turn.ToolCalls {
		if f.ArgumentsAsObject || f.SameIndex {
			if !call(callPiece(f, i, tc, tc.Name, tc.Arguments)) {
				return false
			}
			continue
		}
		if !call(callPiece(f, i, tc, tc.Name, "")) {
			return false
		}
		for _, s := range pieces(tc.Arguments, size) {
			if !call(callPiece(f, i, tc, "", s)) {
				return false
			}
		}
	}
	return true
}

// pieces cuts a text into runs of n characters.
func pieces(s string, n int) []string {
	var out []string
	r := []rune(s)
	for len(r) > 0 {
		k := min(n, len(r))
		out = append(out, string(r[:k]))
		r = r[k:]
	}
	return out
}
