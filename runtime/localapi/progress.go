package localapi

import (
	"strings"

	"hermes.dev/hermes/runtime/agent"
)

// maxEventText bounds how much of a call's arguments or result an event carries, in bytes. The command of an approval
// is never cut.
const maxEventText = 2048

// Between pieces of text that one client reads as one: nothing can be taken back from an OpenAI stream.
const (
	paragraph = "\n\n"
	brokeOff  = "\n\n[the answer broke off here and starts again]\n\n"
)

// progress is what a client has been told of the reply so far.
type progress struct {
	role    bool   // the first chunk names the role, the others do not
	text    bool   // text was sent since the last gap
	pending string // gap to send before the next text
}

// turnEvent sends one event of the turn.
func (s *stream) turnEvent(e agent.Event) {
	switch e.Kind {
	case agent.EventText:
		s.chunk(Choice{Delta: s.said.delta(e.Text, "")}, nil)
	case agent.EventReasoning:
		s.chunk(Choice{Delta: s.said.delta("", e.Text)}, nil)
	case agent.EventRetry:
		s.said.gap(brokeOff, s.events)
		s.event(Event{Type: "retry", Session: e.SessionID, Summary: e.Retry.Err.Error(), Millis: e.Retry.Wait.Milliseconds()})
	case agent.EventCompacted:
		s.event(Event{Type: "compacted", Session: e.SessionID, Compacted: compactedOf(*e.Compacted)})
	case agent.EventFallback:
		s.event(Event{Type: "fallback", Session: e.SessionID, Summary: e.Fallback.String()})
	case agent.EventToolStart, agent.EventToolEnd:
		s.said.gap(paragraph, s.events)
		s.event(toolEvent(e))
	case agent.EventTitle:
		s.event(Event{Type: "title", Session: e.SessionID, Summary: e.Title.Title})
	case agent.EventSteer:
		s.event(Event{Type: "steer", Session: e.SessionID, Summary: cut(e.Text)})
	case agent.EventApproval, agent.EventApprovalDone:
		if e.Kind == agent.EventApproval && s.expect != nil {
			s.expect(e.SessionID, e.Approval.Request.CallID)
		}
		s.event(approvalEvent(e))
	}
}

// gap remembers that the text so far and what follows are not one. A client of events is told by them instead.
func (p *progress) gap(text string, events bool) {
	if p.text && !events {
		p.pending = text
	}
	p.text = false
}

func (p *progress) delta(text, reasoning string) *Reply {
	r := &Reply{Content: text, ReasoningContent: reasoning}
	if !p.role {
		r.Role, p.role = "assistant", true
	}
	if text != "" {
		r.Content, p.pending, p.text = p.pending+text, "", true
	}
	return r
}

func toolEvent(e agent.Event) Event {
	out := Event{Type: string(e.Kind), Session: e.SessionID, Tool: e.Tool.Name, CallID: e.Tool.CallID, Summary: cut(e.Tool.Arguments)}
	if e.Kind == agent.EventToolEnd {
		out.Result, out.IsError, out.Millis = cut(e.Tool.Result), e.Tool.IsError, e.Tool.Took.Milliseconds()
	}
	return out
}

func approvalEvent(e agent.Event) Event {
	r := e.Approval.Request
	out := Event{Type: string(e.Kind), Session: e.SessionID, Tool: r.Tool, CallID: r.CallID, Summary: r.Summary, Command: r.Command, Reason: r.Reason, Covers: r.Covers}
	if r.Question != nil {
		out.Type = strings.Replace(out.Type, "approval", "question", 1)
		out.Question, out.Options = r.Question.Question, r.Question.Options
	}
	if e.Kind == agent.EventApprovalDone {
		out.Decision = decisionName(e.Approval.Decision)
	}
	return out
}

// cut shortens a text without cutting a character in two.
func cut(s string) string {
	if len(s) <= maxEventText {
		return s
	}
	return strings.ToValidUTF8(s[:maxEventText], "") + "…"
}
