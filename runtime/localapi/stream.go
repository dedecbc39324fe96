package localapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// keepAlive is how often a comment is sent while nothing else is, so that a dead client is noticed.
	keepAlive = 15 * time.Second
	// writePatience is how long a client may leave what is sent unread. Then it counts as gone: a turn must not wait
	// for a reader that never comes back.
	writePatience = 30 * time.Second
)

// stream writes server-sent events. Its methods are safe for concurrent use.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	started bool
	session string
	name    string
	id      string
	created int64
	events  bool
	expect  func(session, call string) // announces a question
	said    progress                   // by the turn's goroutine only
}

// streamTurn answers while the turn runs. The turn ends when the client goes away:
// what was stored stays.
func (h *handler) streamTurn(w http.ResponseWriter, r *http.Request, p prepared) {
	s := &stream{
		w: w, control: http.NewResponseController(w), events: p.events, session: p.turn.SessionID,
		name: p.name, id: completionID(p.turn.SessionID), created: h.now().Unix(),
	}
	if p.events {
		p.turn.Approve = h.approvals.asker(p.name)
		s.expect = func(session, call string) { h.approvals.expect(question{p.name, session, call}) }
	}
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }() // the connection may carry another request
	stop := s.keepAlive(h.clock)
	res, err := p.profile.Turn(r.Context(), p.turn, s.turnEvent)
	stop()
	if err != nil {
		s.fail(toError(err, h.now()))
		return
	}
	reason := finishReason(res)
	s.chunk(Choice{Delta: &Reply{}, FinishReason: &reason}, nil)
	if p.usage {
		s.json("", Completion{ID: s.id, Object: chunkObject, Created: s.created, Model: s.name, Choices: []Choice{}, Usage: usageOf(res)})
	}
	s.event(Event{Type: "done", Session: res.SessionID, Info: infoOf(res), Usage: usageOf(res)})
	s.data("", []byte("[DONE]"))
}

// keepAlive sends comments until the returned function is called, which waits for the last one.
func (s *stream) keepAlive(c clock.WithTicker) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := c.NewTicker(keepAlive)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C():
				s.write(": working\n\n")
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

const chunkObject = "chat.completion.chunk"

func (s *stream) chunk(c Choice, u *Usage) {
	s.json("", Completion{ID: s.id, Object: chunkObject, Created: s.created, Model: s.name, Choices: []Choice{c}, Usage: u})
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

func (s *stream) json(event string, v any) { s.data(event, encode(v)) }

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // only strings and numbers are in there
	}
	return data
}

func (s *stream) data(event string, data []byte) { s.write(frame(event, data)) }

func frame(event string, data []byte) string {
	if event != "" {
		return "event: " + event + "\ndata: " + string(data) + "\n\n"
	}
	return "data: " + string(data) + "\n\n"
}

// write sends one frame. A client that is gone, or takes too long, ends the request's context: there is nobody to
// tell here.
func (s *stream) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writePatience)) // the kernel's time, not the clock's; a test's writer may have none
	if !s.started {
		s.begin()
	}
	_, _ = s.w.Write([]byte(text))
	_ = s.control.Flush()
}

// begin sends the head, and the session first of all to clients that asked for events.
func (s *stream) begin() {
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	s.w.WriteHeader(http.StatusOK)
	if s.events {
		_, _ = s.w.Write([]byte(frame(EventName, encode(Event{Type: "session", Session: s.session}))))
	}
}
