package llm

import (
	"fmt"
	"strings"
)

// assembler puts the chunks of a stream together. It never gives out a message that is not complete.
type assembler struct {
	text, reasoning, refusal strings.Builder
	calls                    []*callParts
	byIndex                  map[int]*callParts
	finish, model            string
	usage                    Usage
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

// size is how many bytes the answer has so far.
func (a *assembler) size() int {
	n := a.text.Len() + a.reasoning.Len() + a.refusal.Len()
	for _, c := range a.calls {
		n += c.args.Len() + len(c.name) + 64
	}
	return n
}

// finished reports whether the server said that the answer is complete.
func (a *assembler) finished() bool { return a.finish != "" }

// response gives the finished answer, or the error of an answer that says nothing. done is true when the server ended
// the stream properly although it named no finish reason.
func (a *assembler) response(host string, done bool) (Response, error) {
	if !a.finished() && !done {
		return Response{}, newError(ReasonTimeout, CodeStreamTruncated, host, "the answer ended before it was complete")
	}
	m := Message{Role: RoleAssistant, Content: a.text.String(), Reasoning: a.reasoning.String(), ToolCalls: a.toolCalls()}
	if m.Content == "" && a.refusal.Len() > 0 {
		m.Content = a.refusal.String()
	}
	if m.Content == "" && len(m.ToolCalls) == 0 {
		switch {
		case a.finish == FinishContentFilter:
			return Response{}, newError(ReasonContentPolicy, FinishContentFilter, host, "the provider's safety filter withheld the answer")
		case m.Reasoning != "":
			return Response{}, newError(ReasonIncomplete, a.finish, host, "the model only thought and gave no answer (finish reason %q)", a.finish)
		}
		return Response{}, newError(ReasonServerError, CodeEmptyResponse, host, "the answer is empty")
	}
	finish := a.finish
	if finish == "" {
		finish = FinishStop
	}
	return Response{Message: m, FinishReason: finish, Usage: a.usage, Model: a.model}, nil
}

// toolCalls gives the calls with ids that are present and unique, which history needs and not every server provides.
func (a *assembler) toolCalls() []ToolCall {
	var out []ToolCall
	seen := map[string]bool{}
	for i, p := range a.calls {
		if p.name == "" && p.args.Len() == 0 {
			continue
		}
		id := p.id
		for n := i; id == "" || seen[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		seen[id] = true
		out = append(out, ToolCall{ID: id, Name: p.name, Arguments: p.args.String()})
	}
	return out
}

func onlyIf(ok bool, s string) string {
	if ok {
		return s
	}
	return ""
}
