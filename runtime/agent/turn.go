package agent

import (
	"context"
	"encoding/json"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/runtime/tools"
)

// Store is what a turn needs of the profile's session store; *store.Store implements it.
type Store interface {
	EnsureSession(ctx context.Context, s store.Session) (store.Session, bool, error)
	Session(ctx context.Context, id string) (store.Session, bool, error)
	SetSystemPrompt(ctx context.Context, id, prompt string) error
	Append(ctx context.Context, sessionID string, msgs ...store.Message) ([]store.Message, error)
	Messages(ctx context.Context, sessionID string) ([]store.Message, error)
	AddUsage(ctx context.Context, sessionID string, u store.Usage) error
	Rewind(ctx context.Context, sessionID string, from int64) (rows int64, err error)
	Entitle(ctx context.Context, id, title, source string) (stored string, ok bool, err error)
}

// Tools is what a turn needs of the profile's tools; *tools.Set implements it.
type Tools interface {
	Definitions() []tools.Definition
	Interactive(name string) bool
	Run(ctx context.Context, sessionID string, c tools.Call, approve tools.ApproveFunc) tools.Result
}

var (
	_ Store = (*store.Store)(nil)
	_ Tools = (*tools.Set)(nil)
)

// Turn is one thing a person, a schedule or a peer said.
type Turn struct {
	// SessionID names the session; it is made when it does not exist.
	SessionID string
	// Source is where the session happens: cli, api, cron, a platform. Required for a new session.
	Source string
	// SessionKey, the chat fields and CWD describe a new session; an existing one keeps its own.
	SessionKey, UserID, ChatID, ChatType, ThreadID, DisplayName, CWD string

	// UserText is what was said.
	UserText string
	// TitleFrom is the part of UserText that a title is made from; "" is all of it.
	TitleFrom string
	// Inject goes into every request of this turn, behind everything else, and is never stored (L4).
	Inject []string
	// PlatformMessageID is the platform's id of it, for redelivery checks.
	PlatformMessageID string
	// DisplayKind and DisplayMetadata mark what the program says in the place of a person, such as DisplayNotice.
	DisplayKind     string
	DisplayMetadata json.RawMessage
	// Resume continues an unfinished turn from its stored rows instead of adding UserText.
	Resume bool

	// Retry takes back what was said last, with everything after it, and says it again.
	Retry bool

	// Approve asks the session's person; nil when nobody can be asked.
	Approve tools.ApproveFunc
	// Steering takes what is said to the turn while it runs; nil when nobody can say anything. Run closes it.
	Steering *Steering
}

// Result is a finished turn. After an error it holds what was spent until then.
type Result struct {
	SessionID string
	// Reply is the stored reply.
	Reply        string
	FinishReason string
	// Model is the name the server says answered.
	Model string
	// Usage sums the model calls of this turn.
	Usage      llm.Usage
	ModelCalls int
	ToolCalls  int
	// PendingSteer is what was said to the turn and found no place in it: it is the caller's to say again (P-36).
	PendingSteer string
	// TitleDue says that the session wants the model's title now: see Loop.Title.
	TitleDue bool
}

// EventKind names what an Event reports.
type EventKind string

// The events of a turn, in the order they can first occur.
const (
	// EventTitle says that the session got its immediate title.
	EventTitle EventKind = "title"
	// EventText and EventReasoning carry a piece of the answer in Text.
	EventText      EventKind = "text"
	EventReasoning EventKind = "reasoning"
	// EventRetry says that the model call failed and is tried again: text since the last tool or the start is void.
	EventRetry EventKind = "retry"
	// EventFallback says, once per turn and route, that another model answers than the first one, and why.
	EventFallback EventKind = "fallback"
	// EventUsage carries what one model call consumed.
	EventUsage EventKind = "usage"
	// EventToolStart comes before a tool runs, its assistant row being stored; EventToolEnd after its result is stored.
	EventToolStart EventKind = "tool_start"
	EventToolEnd   EventKind = "tool_end"
	// EventSteer comes after what was said to the running turn, in Text, is stored in it.
	EventSteer EventKind = "steer"
	// EventCompacted says that earlier rows of the session were replaced by a summary.
	EventCompacted EventKind = "compacted"
	// EventApproval comes before a person is asked, EventApprovalDone after the answer.
	EventApproval     EventKind = "approval"
	EventApprovalDone EventKind = "approval_done"
	// EventDone comes after the reply is stored; EventError instead of it. One of them is last.
	EventDone  EventKind = "done"
	EventError EventKind = "error"
)

// Event is one thing that happened in a turn; the fields that do not belong to its kind are empty.
type Event struct {
	Kind      EventKind
	SessionID string
	Text      string
	Tool      *ToolEvent
	Approval  *ApprovalEvent
	Retry     *llm.Retry
	Fallback  *llm.Fallback
	Usage     *llm.Usage
	Title     *TitleEvent
	Compacted *Compacted
	Result    *Result
	Err       *Error
}

// ToolEvent describes one call; Result, IsError and Took are set at its end.
type ToolEvent struct {
	CallID, Name, Arguments string
	Result                  string
	IsError                 bool
	Took                    time.Duration
}

// ApprovalEvent describes one question; Decision is set when it was answered.
type ApprovalEvent struct {
	Request  tools.ApprovalRequest
	Decision tools.Decision
}

// Events receives the events of a turn, one at a time. It must not block for long: the turn waits for it.
type Events func(Event)
