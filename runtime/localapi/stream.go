package localapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"hermes.dev/hermes/runtime/agent"
)

// maxEventResult bounds how much of a tool's result an event carries, in bytes.
const maxEventResult = 2048

// keepAlive is how often a comment is sent while nothing else is, so that a dead client is noticed.
const keepAlive = 15 * time.Second

// stream writes server-sent events. Its methods are safe for concurrent use.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	flush   http.Flusher
	started bool
	name    string
	id      string
	created int64
	events  bool
}

// streamTurn answers while the turn runs. The turn ends when the client goes away:
// what was stored stays.
func (h *handler) streamTurn(w http.ResponseWriter, r *http.Request, p prepared) {
	flusher, _ := w.(http.Flusher)
	s := &stream{w: w, flush: flusher, name: p.name, id: completionID(p.turn.SessionID), created: h.now().Unix(), events: p.events}
	if p.events {
		p.turn.Approve = h.approvals.ask
		s.event(Event{Type: "session", Session: p.turn.SessionID})
	}
	stop := s.keepAlive()
	res, err := p.profile.Turn(r.Context(), p.turn, s.turnEvent)
	stop()
	if err != nil {
		s.fail(toError(err, h.now()))
		return
	}
	reason := finishReason(res)
	s.chunk(Choice{Delta: &Reply{}, FinishReason: &reason}, nil)
	if p.usage {
		s.usage(usageOf(res))
	}
	s.event(Event{Type: "done", Session: res.SessionID, Info: infoOf(res), Usage: usageOf(res)})
	s.data("", []byte("[DONE]"))
}

// keepAlive sends comments until the returned function is called, which waits for the last one.
func (s *stream) keepAlive() (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(keepAlive)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				s.comment()
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

func (s *stream) comment() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	_, _ = fmt.Fprint(s.w, ": working\n\n")
	s.flushNow()
}

// turnEvent sends one event of the turn.
func (s *stream) turnEvent(e agent.Event) {
	switch e.Kind {
	case agent.EventText:
		s.chunk(Choice{Delta: &Reply{Role: "assistant", Content: e.Text}}, nil)
	case agent.EventReasoning:
		s.chunk(Choice{Delta: &Reply{Role: "assistant", ReasoningContent: e.Text}}, nil)
	case agent.EventRetry:
		s.event(Event{Type: "retry", Session: e.SessionID, Summary: e.Retry.Err.Error(), Millis: e.Retry.Wait.Milliseconds()})
	case agent.EventToolStart, agent.EventToolEnd:
		s.event(toolEvent(e))
	case agent.EventApproval, agent.EventApprovalDone:
		r := e.Approval.Request
		s.event(Event{Type: string(e.Kind), Session: e.SessionID, Tool: r.Tool, CallID: r.CallID, Summary: r.Summary, Command: r.Command, Reason: r.Reason})
	}
}

func toolEvent(e agent.Event) Event {
	out := Event{Type: string(e.Kind), Session: e.SessionID, Tool: e.Tool.Name, CallID: e.Tool.CallID, Summary: e.Tool.Arguments}
	if e.Kind == agent.EventToolEnd {
		out.Result, out.IsError, out.Millis = e.Tool.Result, e.Tool.IsError, e.Tool.Took.Milliseconds()
		if len(out.Result) > maxEventResult {
			out.Result = out.Result[:maxEventResult] + "…"
		}
	}
	return out
}

func (s *stream) chunk(c Choice, u *Usage) {
	s.json("", Completion{ID: s.id, Object: "chat.completion.chunk", Created: s.created, Model: s.name, Choices: []Choice{c}, Usage: u})
}

func (s *stream) usage(u *Usage) {
	s.json("", Completion{ID: s.id, Object: "chat.completion.chunk", Created: s.created, Model: s.name, Choices: []Choice{}, Usage: u})
}

// event sends one of hermes' own events, to clients that asked for them.
func (s *stream) event(e Event) {
	if s.events {
		s.json(EventName, e)
	}
}

// fail ends the stream with an error: as an HTTP status when nothing was sent yet.
func (s *stream) fail(e *Error) {
	s.mu.Lock()
	started := s.started
	s.mu.Unlock()
	if !started {
		writeError(s.w, e)
		return
	}
	s.json("", ErrorBody{Error: *e})
}

func (s *stream) json(event string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return // only strings and numbers are in there
	}
	s.data(event, data)
}

func (s *stream) data(event string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if event != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", event)
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data) // a client that is gone ends the request's context
	s.flushNow()
}

func (s *stream) begin() {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) flushNow() {
	if s.flush != nil {
		s.flush.Flush()
	}
}
