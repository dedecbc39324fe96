package agent

import (
	"context"
	"errors"
	"strings"
	"sync"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// The frame in which the model gets a steer. The system prompt says that what is in it comes from the person.
const (
	SteerOpening = "[OUT-OF-BAND USER MESSAGE]"
	SteerClosing = "[/OUT-OF-BAND USER MESSAGE]"
)

// ErrNoText is a steer that says nothing.
var ErrNoText = errors.New("a message to a running turn needs a text")

// SteerStore keeps what was said to a running turn until it is a row of the transcript; *store.Store implements it.
type SteerStore interface {
	PendingSteer(ctx context.Context, sessionID string) (string, error)
	SetPendingSteer(ctx context.Context, sessionID, text string) error
	AppendSteer(ctx context.Context, sessionID string, m store.Message) ([]store.Message, error)
}

var _ SteerStore = (*store.Store)(nil)

// Steering takes what people say to a session's turn while it runs. Its methods are safe for concurrent use. What it
// has acknowledged is stored: it survives a back-off, a failed turn and a crash, and goes into the next turn of the
// session then. Only a stop drops it.
//
// Implements P-35 to P-39.
type Steering struct {
	store   SteerStore
	session string

	mu      sync.Mutex
	loaded  bool
	closed  bool
	pending string
}

// NewSteering makes the mailbox of one turn. It reads nothing yet.
func NewSteering(st SteerStore, sessionID string) *Steering {
	return &Steering{store: st, session: sessionID}
}

// Add takes a text for the turn. It is false when the turn takes none any more: say it as a turn of its own then.
func (s *Steering) Add(ctx context.Context, text string) (bool, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return false, ErrNoText
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, nil
	}
	if err := s.load(ctx); err != nil {
		return false, err
	}
	joined := text
	if s.pending != "" {
		joined = s.pending + "\n" + text // P-38
	}
	if err := s.store.SetPendingSteer(ctx, s.session, joined); err != nil {
		return false, err
	}
	s.pending = joined
	return true, nil
}

// load reads what a turn that crashed or failed left behind; s.mu is held.
func (s *Steering) load(ctx context.Context) error {
	if s.loaded {
		return nil
	}
	text, err := s.store.PendingSteer(ctx, s.session)
	if err != nil {
		return err
	}
	s.pending, s.loaded = text, true
	return nil
}

// place makes a row of what is pending; none when nothing is. What cannot be stored stays pending.
func (s *Steering) place(ctx context.Context) ([]store.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(ctx); err != nil || s.pending == "" {
		return nil, err
	}
	rows, err := s.store.AppendSteer(ctx, s.session, steerRow(s.pending))
	if err == nil {
		s.pending = ""
	}
	return rows, err
}

// end closes the mailbox and takes what is pending out of it, unless keep leaves it for the session's next turn.
func (s *Steering) end(ctx context.Context, keep bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if err := s.load(ctx); err != nil || keep || s.pending == "" {
		return "", err
	}
	text := s.pending
	s.pending = ""
	return text, s.store.SetPendingSteer(ctx, s.session, "")
}

// steerRow is a steer as a row of its own: people read what was said, the model gets it in its frame.
func steerRow(text string) store.Message {
	return store.Message{
		Role: llm.RoleUser, Content: text, APIContent: SteerOpening + "\n" + text + "\n" + SteerClosing, DisplayKind: DisplaySteer,
	}
}

// steerable reports whether a steer may follow these rows: they end with a tool result of the turn that goes on, and
// nothing behind it but what was put in there before. So it never lands inside an earlier turn, whatever tool results
// that has. Implements P-35 to P-37.
func steerable(rows []store.Message) bool {
	for i := len(rows) - 1; i >= 0; i-- {
		switch {
		case rows[i].Role == llm.RoleTool:
			return true
		case rows[i].Role != llm.RoleUser || ordinary(rows[i]):
			return false
		}
	}
	return false
}

// steer puts what is pending behind the newest tool result of this turn; without one it stays pending.
func (r *run) steer(ctx context.Context) *Error {
	if r.t.Steering == nil || !r.steerable {
		return nil
	}
	rows, err := r.t.Steering.place(context.WithoutCancel(ctx))
	if err != nil {
		return persistence(err)
	}
	for _, row := range rows {
		r.extend(row)
		r.emit(Event{Kind: EventSteer, Text: row.Content})
	}
	return nil
}

// endSteering closes the turn's mailbox: a reply hands back what did not find a place, a stop drops it, and after any
// other end it waits for the session's next turn. Implements P-36 and P-38.
func (r *run) endSteering(ctx context.Context, failed *Error) {
	if r.t.Steering == nil {
		return
	}
	stopped := failed != nil && errors.Is(failed, ErrStopped)
	text, err := r.t.Steering.end(context.WithoutCancel(ctx), failed != nil && !stopped)
	if err != nil {
		r.c.Log.Error(err, "pending steer not cleared", "session", r.t.SessionID)
	}
	if failed == nil {
		r.result.PendingSteer = text
	}
}
