package llm

import (
	"context"
	"encoding/json"
)

// Roles of a Message, the OpenAI chat names (L2).
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Finish reasons as servers send them.
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishToolCalls     = "tool_calls"
	FinishContentFilter = "content_filter"
	// FinishPause is an answer the server wants to go on with; the client continues it and never hands it out.
	FinishPause = "pause_turn"
)

// Message is one entry of a conversation in the OpenAI shape. Implements L2.
type Message struct {
	Role    string
	Content string
	// Reasoning is the model's thinking as the server showed it. It is kept for people and never sent back.
	Reasoning string
	// Native is what the server wants back verbatim with this message: signed thinking blocks, encrypted reasoning. It
	// is opaque outside this package, goes to the host it came from and to no other, and is nil when there is nothing.
	Native     json.RawMessage // assistant only
	ToolCalls  []ToolCall      // assistant only
	ToolCallID string          // tool only: the call this answers
	Name       string          // tool only: the tool that ran
}

// ToolCall is one request of the model to run a tool.
type ToolCall struct {
	ID   string
	Name string
	// Arguments is exactly what the model sent, which may be empty or not JSON at all.
	Arguments string
}

// ToolDefinition describes a tool to the model; Parameters is a JSON schema object.
type ToolDefinition struct {
	Name        string
	Description string
	Parameters  map[string]any
}

// Request is one call of a model.
type Request struct {
	Model    string
	Messages []Message
	Tools    []ToolDefinition
	// MaxTokens bounds the answer, in tokens; 0 leaves it to the server.
	MaxTokens int64
	// Temperature is sent only when set.
	Temperature *float64
	// NoStream asks for the answer in one piece (L9: a server that sends only keepalives when streaming).
	NoStream bool
	// NoThinking asks for an answer without thinking, where the route has a way to say so.
	NoThinking bool
	// CacheTTL is the resolved tier for cache markers on routes that honour them; the zero value is Cache5m.
	CacheTTL CacheTTL
	// StaticPrefix is the part of the system prompt that sessions share, for a marker of its own; it may be empty.
	StaticPrefix string
	// Refit gives messages that fit a window of so many tokens. A Chain calls it before it asks a route whose window
	// differs from the primary's; nil leaves the messages as they are (L19).
	Refit func(ctx context.Context, window int64) ([]Message, error)
}

// Usage counts tokens of one or more calls. Input excludes what the cache served or stored, so the whole prompt is
// Input+CacheRead+CacheWrite. Implements M9.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Reasoning int64
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Delta is one piece of an answer while it streams. At most one field group is set.
type Delta struct {
	Text      string
	Reasoning string
	// ToolCall names a call the model has begun; its arguments are still incomplete.
	ToolCall *ToolCall
	// Retry says that the attempt failed: everything streamed for this request so far is void.
	Retry *Retry
	// Fallback says that another route answers than the first one, and why.
	Fallback *Fallback
}

// Response is a complete answer. There is no such thing as a partial one (L5).
type Response struct {
	Message      Message
	FinishReason string
	Usage        Usage
	// Model is the name the server says answered.
	Model string
	// Provider and BaseURL are the route that answered, set by a Chain.
	Provider, BaseURL string
	// NoStream reports that streaming does not work for this route and later requests should set Request.NoStream.
	NoStream bool
}

// Model answers requests. Stream calls emit on the caller's goroutine, in order, and returns when the answer is
// complete or has failed; a failure is an *Error, or the context's error when ctx ended. emit may be nil.
type Model interface {
	Stream(ctx context.Context, r Request, emit func(Delta)) (Response, error)
}
