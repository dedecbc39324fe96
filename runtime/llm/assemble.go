package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// assembler puts the chunks of a chat completions stream together.
type assembler struct {
	host                     string
	text, reasoning, refusal strings.Builder
	calls                    []*callParts
	byIndex                  map[int]*callParts
	finish, model            string
	usage                    Usage
	native                   chatNative
}

var _ answer = (*assembler)(nil)

// event implements answer.
func (a *assembler) event(_ string, data []byte, emit func(Delta)) (sighting, error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		return sawEnd, nil
	}
	var chunk wireChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return sawNothing, malformed(a.host, err)
	}
	if chunk.Error != nil {
		return sawNothing, bodyError(chunk.Error, a.host)
	}
	if a.add(&chunk, emit) {
		return sawContent, nil
	}
	return sawNothing, nil
}

// whole implements answer: the object of an answer in one piece differs from an event only in names.
func (a *assembler) whole(data []byte, emit func(Delta)) error {
	_, err := a.event("", data, emit)
	return err
}

type callParts struct {
	id, name  string
	args      strings.Builder
	announced bool
}

// add takes one chunk and reports its pieces. It returns whether the chunk carried anything of the answer.
func (a *assembler) add(c *wireChunk, emit func(Delta)) bool {
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = c.Usage.usage()
	}
	content := false
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue // one answer is asked for; more would interleave
		}
		if ch.FinishReason != "" {
			a.finish = ch.FinishReason
			content = true
		}
		content = a.addDelta(&ch.Delta, emit) || content
		content = a.addDelta(&ch.Message, emit) || content
	}
	return content
}

func (a *assembler) addDelta(d *wireDelta, emit func(Delta)) bool {
	content := false
	if r := d.ReasoningContent + onlyIf(d.ReasoningContent == "", d.Reasoning); r != "" {
		a.reasoning.WriteString(r)
		emit(Delta{Reasoning: r})
		content = true
	}
	a.native.add(d)
	if d.Content != "" {
		a.text.WriteString(d.Content)
		emit(Delta{Text: d.Content})
		content = true
	}
	if d.Refusal != "" {
		a.refusal.WriteString(d.Refusal)
		content = true
	}
	for i := range d.ToolCalls {
		a.addCall(&d.ToolCalls[i], i, emit)
		content = true
	}
	return content
}

// addCall finds the call a piece belongs to. Servers number the pieces by index; some leave the index out, and some
// give several calls the same index and different ids.
func (a *assembler) addCall(w *wireCall, position int, emit func(Delta)) {
	if a.byIndex == nil {
		a.byIndex = map[int]*callParts{}
	}
	index := position
	if w.Index != nil {
		index = *w.Index // any number: a server that lies must not be able to do more than fail its own answer
	}
	p := a.byIndex[index]
	if w.Index == nil && w.ID == "" && len(a.calls) > 0 {
		p = a.calls[len(a.calls)-1]
	}
	if p == nil || (w.ID != "" && p.id != "" && p.id != w.ID) {
		p = &callParts{}
		a.calls = append(a.calls, p)
		a.byIndex[index] = p
	}
	if w.ID != "" {
		p.id = w.ID
	}
	if p.name == "" {
		p.name = w.Function.Name
	}
	p.args.WriteString(string(w.Function.Arguments))
	if !p.announced && p.name != "" {
		p.announced = true
		emit(Delta{ToolCall: &ToolCall{ID: p.id, Name: p.name}})
	}
}

// size implements answer.
func (a *assembler) size() (bytes, calls int) {
	n := a.native.size() + a.text.Len() + a.reasoning.Len() + a.refusal.Len()
	for _, c := range a.calls {
		n += c.args.Len() + len(c.name) + 64
	}
	return n, len(a.calls)
}

// finished implements answer.
func (a *assembler) finished() bool { return a.finish != "" }

// response implements answer.
func (a *assembler) response(done bool) (Response, error) {
	m := Message{Role: RoleAssistant, Content: a.text.String(), Reasoning: a.reasoning.String(), ToolCalls: a.toolCalls()}
	if m.Content == "" && a.refusal.Len() > 0 {
		m.Content = a.refusal.String()
	}
	m.Native = a.native.encode(a.host)
	r := Response{Message: m, FinishReason: a.finish, Usage: a.usage, Model: a.model}
	return conclude(r, a.host, done)
}

// toolCalls gives the calls with ids that are present and unique, which history needs and not every server provides.
func (a *assembler) toolCalls() []ToolCall {
	var out []ToolCall
	ids := callIDs{}
	for _, p := range a.calls {
		if p.name == "" && p.args.Len() == 0 {
			continue
		}
		out = append(out, ToolCall{ID: ids.next(p.id), Name: p.name, Arguments: p.args.String()})
	}
	return out
}

func onlyIf(ok bool, s string) string {
	if ok {
		return s
	}
	return ""
}
