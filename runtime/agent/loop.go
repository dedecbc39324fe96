package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// DefaultParallelTools is how many tool calls of one answer run at the same time.
const DefaultParallelTools = 8

// Config is what a Loop works with. Store and Model are required.
type Config struct {
	Store Store
	// Tools may be nil: the model is then offered none.
	Tools Tools
	Model llm.Model
	// ModelName is what requests ask for; Provider and BaseURL label the usage rows.
	ModelName, Provider, BaseURL string
	// MaxTokens and Temperature go into every request; zero and nil leave them to the server.
	MaxTokens   int64
	Temperature *float64
	// CacheTTL is the declared prompt cache tier; auto is resolved by the source a session was made with.
	CacheTTL llm.CacheTTL
	// MaxTurns is the budget of a turn in model calls (see ParseMaxTurns); 0 is DefaultMaxTurns.
	MaxTurns int
	// ParallelTools bounds the tool calls that run at the same time; 0 is DefaultParallelTools.
	ParallelTools int
	// SystemPrompt builds the system prompt of a new session. It is called once per session; the result is stored and
	// used unchanged from then on, so that the provider's prefix cache holds. nil means no system prompt.
	SystemPrompt func(ctx context.Context) (string, error)
	// Compaction makes long sessions smaller; without a Store nothing does.
	Compaction CompactionConfig
	// Profile is recorded with new sessions.
	Profile string
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Loop runs the turns of one profile. Different sessions run concurrently, one session one turn at a time.
type Loop struct {
	c Config

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc

	learned atomic.Int64 // the model's window as a refusal stated it, in tokens
}

// New makes a loop.
func New(c Config) (*Loop, error) {
	if c.Store == nil || c.Model == nil {
		return nil, errors.New("agent: Store and Model are required")
	}
	if c.MaxTurns == 0 {
		c.MaxTurns = DefaultMaxTurns
	}
	if c.ParallelTools <= 0 {
		c.ParallelTools = DefaultParallelTools
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	return &Loop{c: c, running: map[string]context.CancelCauseFunc{}}, nil
}

// Running is how many turns run now.
func (l *Loop) Running() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.running)
}

// Stop ends the session's turn with KindInterrupted and cause ErrStopped. It reports whether one was running and does
// not wait for its end.
func (l *Loop) Stop(sessionID string) bool {
	l.mu.Lock()
	cancel, ok := l.running[sessionID]
	l.mu.Unlock()
	if ok {
		cancel(ErrStopped)
	}
	return ok
}

func (l *Loop) enter(sessionID string, cancel context.CancelCauseFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, busy := l.running[sessionID]; busy {
		return false
	}
	l.running[sessionID] = cancel
	return true
}

func (l *Loop) leave(sessionID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, sessionID)
}

// Run runs one turn to its stored reply. Every error is an *Error; the events end with EventDone or EventError.
// A panic of a tool or of the model passes through Run on the caller's goroutine. events may be nil.
//
// Implements L1, L5 and L6.
func (l *Loop) Run(ctx context.Context, t Turn, events Events) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{Loop: l, t: t, events: events, result: Result{SessionID: t.SessionID}}
	if err := r.check(); err != nil {
		return r.fail(err)
	}
	if !l.enter(t.SessionID, cancel) {
		return r.fail(&Error{Kind: KindBusy, Err: fmt.Errorf("session %s is answering already", t.SessionID)})
	}
	defer l.leave(t.SessionID)
	err := r.turn(ctx)
	r.endSteering(ctx, err)
	if err != nil {
		return r.fail(err)
	}
	done := r.result
	r.emit(Event{Kind: EventDone, Result: &done})
	return r.result, nil
}

// run is one turn in progress.
type run struct {
	*Loop
	t      Turn
	result Result

	prompt   string
	history  []llm.Message // what requests contain: every message here is stored
	defs     []llm.ToolDefinition
	ids      callIDs // of every call in the session
	noStream bool
	titleDue bool // once there is a reply
	// steerable says that the history ends with tool results of this turn.
	steerable bool
	source    string      // the session was made with
	fallback  string      // the route that was last announced
	unsaved   store.Usage // tokens that could not be written yet
	size      size

	eventMu sync.Mutex
	events  Events
	askMu   sync.Mutex // people get one question at a time
}

func (r *run) check() *Error {
	switch {
	case r.t.SessionID == "":
		return invalid("a turn needs a session id")
	case r.t.Resume && r.t.Retry:
		return invalid("a turn is either resumed or tried again")
	case (r.t.Resume || r.t.Retry) && r.t.UserText != "":
		return invalid("a turn that is resumed or tried again continues what is stored and takes no text")
	case !r.t.Resume && !r.t.Retry && r.t.UserText == "":
		return invalid("a turn needs a text")
	}
	return nil
}

func (r *run) fail(err *Error) (Result, error) {
	r.emit(Event{Kind: EventError, Err: err})
	return r.result, err
}

// emit hands out one event. Tools report from goroutines of their own, listeners see one event at a time.
func (r *run) emit(e Event) {
	if r.events == nil {
		return
	}
	e.SessionID = r.t.SessionID
	r.eventMu.Lock()
	defer r.eventMu.Unlock()
	r.events(e)
}

// turn is the loop of L1.
func (r *run) turn(ctx context.Context) *Error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	for calls := 0; ; calls++ {
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		if r.c.MaxTurns != Unlimited && calls >= r.c.MaxTurns {
			return &Error{Kind: KindBudget, Err: fmt.Errorf("the turn used its %d model calls without a reply: raise agent.max_turns or ask for less at once", r.c.MaxTurns)}
		}
		if err := r.steer(ctx); err != nil {
			return err
		}
		resp, err := r.ask(ctx)
		if err != nil {
			return err
		}
		resp.Message.ToolCalls = r.ids.claim(resp.Message.ToolCalls)
		if err := r.keepAnswer(ctx, resp); err != nil {
			return err
		}
		if len(resp.Message.ToolCalls) == 0 {
			r.result.Reply, r.result.FinishReason, r.result.TitleDue = resp.Message.Content, resp.FinishReason, r.titleDue
			return nil
		}
		if err := r.runTools(ctx, resp.Message.ToolCalls); err != nil {
			return err
		}
		r.steerable = true
	}
}

// request asks the model once; the client retries below it.
func (r *run) request(ctx context.Context) (llm.Response, *Error) {
	req := llm.Request{
		Model: r.c.ModelName, Tools: r.defs, MaxTokens: r.c.MaxTokens, Temperature: r.c.Temperature, NoStream: r.noStream,
		Messages: injected(r.history, r.t.Inject), CacheTTL: r.c.CacheTTL.ForSession(r.source), Refit: r.refit,
	}
	resp, err := r.c.Model.Stream(ctx, req, func(d llm.Delta) {
		switch {
		case d.Text != "":
			r.emit(Event{Kind: EventText, Text: d.Text})
		case d.Reasoning != "":
			r.emit(Event{Kind: EventReasoning, Text: d.Reasoning})
		case d.Retry != nil:
			r.emit(Event{Kind: EventRetry, Retry: d.Retry})
		case d.Fallback != nil:
			r.announce(d.Fallback)
		}
	})
	if err != nil {
		return llm.Response{}, modelError(ctx, err, r.c.Clock.Now())
	}
	r.noStream = resp.NoStream
	return resp, nil
}

// keepAnswer stores a complete answer, then counts it.
func (r *run) keepAnswer(ctx context.Context, resp llm.Response) *Error {
	row, err := assistantRow(resp)
	if err != nil {
		return persistence(err)
	}
	if err := r.append(ctx, row); err != nil {
		return err
	}
	r.result.ModelCalls++
	r.result.Model = resp.Model
	r.result.Usage = r.result.Usage.Add(resp.Usage)
	r.saveUsage(ctx, resp)
	u := resp.Usage
	r.emit(Event{Kind: EventUsage, Usage: &u})
	return nil
}

// append stores rows and takes them into the conversation. A row that belongs to history is written even when the
// turn was stopped meanwhile: the store's own patience bounds it.
func (r *run) append(ctx context.Context, rows ...store.Message) *Error {
	stored, err := r.c.Store.Append(context.WithoutCancel(ctx), r.t.SessionID, rows...)
	if err != nil {
		return persistence(err)
	}
	for _, row := range stored {
		r.extend(row)
	}
	return nil
}

// extend takes a stored row into the conversation, as wire does.
func (r *run) extend(row store.Message) { r.history = appendMessage(r.history, message(row)) }

// saveUsage records tokens. They are bookkeeping: failing to write them does not end a turn whose answer is stored;
// they are added to the next attempt of the same turn.
func (r *run) saveUsage(ctx context.Context, resp llm.Response) {
	u := r.usage(resp)
	u.InputTokens += r.unsaved.InputTokens
	u.OutputTokens += r.unsaved.OutputTokens
	u.CacheReadTokens += r.unsaved.CacheReadTokens
	u.CacheWriteTokens += r.unsaved.CacheWriteTokens
	u.ReasoningTokens += r.unsaved.ReasoningTokens
	u.APICalls += r.unsaved.APICalls
	r.unsaved = u
	if err := r.c.Store.AddUsage(context.WithoutCancel(ctx), r.t.SessionID, u); err != nil {
		r.c.Log.Error(err, "token usage not recorded yet", "session", r.t.SessionID, "calls", u.APICalls)
		return
	}
	r.unsaved = store.Usage{}
}

// usage is what one model call is booked as.
func (l *Loop) usage(resp llm.Response) store.Usage {
	model := resp.Model
	if model == "" {
		model = l.c.ModelName
	}
	provider, baseURL := l.c.Provider, l.c.BaseURL
	if resp.Provider != "" {
		provider, baseURL = resp.Provider, resp.BaseURL
	}
	return store.Usage{
		Model: model, BillingProvider: provider, BillingBaseURL: baseURL, APICalls: 1,
		InputTokens: resp.Usage.Input, OutputTokens: resp.Usage.Output, CacheReadTokens: resp.Usage.CacheRead,
		CacheWriteTokens: resp.Usage.CacheWrite, ReasoningTokens: resp.Usage.Reasoning,
	}
}

func definitions(t Tools) []llm.ToolDefinition {
	if t == nil {
		return nil
	}
	defs := t.Definitions()
	out := make([]llm.ToolDefinition, len(defs))
	for i, d := range defs {
		out[i] = llm.ToolDefinition(d)
	}
	return out
}
