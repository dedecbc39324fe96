package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// blocks puts the content blocks of a messages answer together.
type blocks struct {
	host        string
	list        []*block
	byIndex     map[int]*block
	stop, model string
	usage       Usage
	bytes       int
	calls       int
}

var _ answer = (*blocks)(nil)

// block is one content block in the making.
type block struct {
	kind      string
	text      strings.Builder // text, or thinking
	signature strings.Builder
	id, name  string
	args      strings.Builder
	input     json.RawMessage // arguments that came whole
	raw       json.RawMessage // the block as it began
	citations []json.RawMessage
}

// event implements answer.
func (a *blocks) event(name string, data []byte, emit func(Delta)) (sighting, error) {
	var e messagesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return sawNothing, malformed(a.host, err)
	}
	switch firstOf(e.Type, name) {
	case "error":
		if e.Error == nil {
			e.Error = &wireError{Message: "the server broke off the answer"}
		}
		return sawNothing, bodyError(e.Error, a.host)
	case "message_start":
		if e.Message != nil {
			a.model = e.Message.Model
			e.Message.Usage.update(&a.usage)
		}
		return sawNothing, nil
	case "content_block_start":
		b, err := a.begin(e.Block, emit)
		if err != nil {
			return sawNothing, err
		}
		if a.byIndex == nil {
			a.byIndex = map[int]*block{}
		}
		a.byIndex[e.Index] = b // any number: it only names the block
		return sawContent, nil
	case "content_block_delta":
		return sawContent, a.delta(&e, emit)
	case "message_delta":
		e.Usage.update(&a.usage)
		a.stop = firstOf(e.Delta.StopReason, a.stop)
		return sawContent, nil
	case "message_stop":
		return sawEnd, nil
	}
	return sawNothing, nil // ping, content_block_stop, and what later versions add
}

// begin takes the start of a block, which for some kinds and servers is the whole of it.
func (a *blocks) begin(raw json.RawMessage, emit func(Delta)) (*block, error) {
	var w struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, malformed(a.host, fmt.Errorf("a content block: %w", err))
	}
	b := &block{kind: w.Type, raw: append(json.RawMessage(nil), raw...), id: w.ID, name: w.Name, input: append(json.RawMessage(nil), w.Input...)}
	a.list = append(a.list, b)
	a.bytes += len(raw) + 64
	switch w.Type {
	case "text":
		a.addText(b, w.Text, emit)
	case "thinking":
		b.signature.WriteString(w.Signature)
		a.addThinking(b, w.Thinking, emit)
	case "tool_use":
		a.calls++
		emit(Delta{ToolCall: &ToolCall{ID: b.id, Name: b.name}})
	}
	return b, nil
}

// delta takes a piece of a block. A piece of nothing, or of a block of another kind, is a server that lies: what it
// means cannot be known, so it fails its own answer.
func (a *blocks) delta(e *messagesEvent, emit func(Delta)) error {
	b, d := a.byIndex[e.Index], &e.Delta
	want := map[string]string{"text_delta": "text", "citations_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking"}[d.Type]
	switch {
	case b == nil:
		return newError(ReasonServerError, CodeStreamMalformed, a.host, "a piece of the answer belongs to block %d, which never began", e.Index)
	case want != "" && want != b.kind:
		return newError(ReasonServerError, CodeStreamMalformed, a.host, "a piece of type %q came for a block of type %q", clip(d.Type, 40), clip(b.kind, 40))
	}
	switch d.Type {
	case "text_delta":
		a.addText(b, d.Text, emit)
	case "thinking_delta":
		a.addThinking(b, d.Thinking, emit)
	case "signature_delta":
		b.signature.WriteString(d.Signature)
		a.bytes += len(d.Signature)
	case "input_json_delta":
		b.args.WriteString(d.PartialJSON)
		a.bytes += len(d.PartialJSON)
	case "citations_delta":
		b.citations = append(b.citations, append(json.RawMessage(nil), d.Citation...))
		a.bytes += len(d.Citation)
	}
	return nil
}

func (a *blocks) addText(b *block, s string, emit func(Delta)) {
	if s == "" {
		return
	}
	b.text.WriteString(s)
	a.bytes += len(s)
	emit(Delta{Text: s})
}

func (a *blocks) addThinking(b *block, s string, emit func(Delta)) {
	if s == "" {
		return
	}
	b.text.WriteString(s)
	a.bytes += len(s)
	emit(Delta{Reasoning: s})
}

// whole implements answer.
func (a *blocks) whole(data []byte, emit func(Delta)) error {
	var w messagesAnswer
	if err := json.Unmarshal(data, &w); err != nil {
		return malformed(a.host, err)
	}
	if w.Error != nil {
		return bodyError(w.Error, a.host)
	}
	a.model, a.stop = w.Model, w.StopReason
	w.Usage.update(&a.usage)
	for _, raw := range w.Content {
		if _, err := a.begin(raw, emit); err != nil {
			return err
		}
	}
	return nil
}

// finished implements answer.
func (a *blocks) finished() bool { return a.stop != "" }

// size implements answer.
func (a *blocks) size() (bytes, calls int) { return a.bytes, max(a.calls, len(a.list)/2) }

// response implements answer.
func (a *blocks) response(done bool) (Response, error) {
	m := Message{Role: RoleAssistant}
	var text, thinking strings.Builder
	var laid []json.RawMessage
	opaque := false
	ids := callIDs{}
	for _, b := range a.list {
		switch b.kind {
		case "text":
			text.WriteString(b.text.String())
			laid = append(laid, mustJSON(place{Place: "text", Bytes: b.text.Len()}))
		case "tool_use":
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: ids.next(b.id), Name: b.name, Arguments: b.arguments()})
			laid = append(laid, mustJSON(place{Place: "call"}))
		default:
			if b.kind == "thinking" {
				thinking.WriteString(b.text.String())
			}
			if raw, ok := b.verbatim(); ok {
				opaque, laid = true, append(laid, raw)
			}
		}
	}
	m.Content, m.Reasoning = text.String(), thinking.String()
	if opaque {
		m.Native = native{Blocks: laid}.encode(a.host)
	}
	finish := finishOf(a.stop)
	if finish == "" && done && len(m.ToolCalls) > 0 {
		finish = FinishToolCalls
	}
	return conclude(Response{Message: m, FinishReason: finish, Usage: a.usage, Model: a.model}, a.host, done)
}

// arguments is what the model sent for a call.
func (b *block) arguments() string {
	if b.args.Len() > 0 || len(b.input) == 0 {
		return b.args.String()
	}
	return string(b.input)
}

// verbatim is the block as the server wants it back. A thinking block without a signature is refused by servers that
// sign, and others do not ask for it.
func (b *block) verbatim() (json.RawMessage, bool) {
	switch b.kind {
	case "thinking":
		if b.signature.Len() == 0 {
			return nil, false
		}
		return mustJSON(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{"thinking", b.text.String(), b.signature.String()}), true
	case "redacted_thinking":
		return b.raw, true
	}
	if b.args.Len() == 0 {
		return b.raw, b.kind != ""
	}
	var m map[string]json.RawMessage // a server-side tool: its input came in pieces
	if json.Unmarshal(b.raw, &m) != nil || !json.Valid([]byte(b.args.String())) {
		return nil, false
	}
	m["input"] = json.RawMessage(b.args.String())
	return mustJSON(m), true
}

// mustJSON writes a value of our own making, which cannot fail.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// callIDs gives calls ids that are present and unique, which history needs and not every server provides.
type callIDs map[string]bool

func (seen callIDs) next(id string) string {
	for n := len(seen); id == "" || seen[id]; n++ {
		id = fmt.Sprintf("call_%d", n)
	}
	seen[id] = true
	return id
}
