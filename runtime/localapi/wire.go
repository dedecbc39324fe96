package localapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// SessionHeader names the session of a request, and of its response.
const SessionHeader = "X-Hermes-Session-Id"

// EventName is the SSE event under which hermes' own events are sent, to clients that asked for them.
const EventName = "hermes"

// maxRequestBytes bounds a request body.
const maxRequestBytes = 8 << 20

// CompletionRequest is the body of POST /v1/chat/completions: OpenAI's, and an extension.
type CompletionRequest struct {
	// Model is the profile's name.
	Model string `json:"model"`
	// Messages end with what the user says now. In a session only that last one is used;
	// without one, all of them begin a new session.
	Messages []RequestMessage `json:"messages"`
	// N must be 1 or absent.
	N *int `json:"n,omitempty"`
	// Stream answers with server-sent events.
	Stream bool `json:"stream,omitempty"`
	// StreamOptions as in OpenAI's API.
	StreamOptions *StreamOptions `json:"stream_options,omitempty"`
	// Hermes is the extension.
	Hermes *Extension `json:"hermes,omitempty"`
}

// StreamOptions as in OpenAI's API.
type StreamOptions struct {
	// IncludeUsage sends one more chunk with the token usage.
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// Extension is what a request says beyond OpenAI's API.
type Extension struct {
	// Session continues a session; the X-Hermes-Session-Id header does the same.
	Session string `json:"session,omitempty"`
	// Source of a new session: cli, api.
	Source string `json:"source,omitempty"`
	// Events sends tool progress, approvals and retries as SSE events named "hermes". Needs stream.
	// Without it nobody can be asked for approval.
	Events bool `json:"events,omitempty"`
	// Resume continues an unfinished turn from its stored rows; messages stay empty.
	Resume bool `json:"resume,omitempty"`
	// Retry takes back what was said last, with everything after it, and says it again; messages stay empty.
	Retry bool `json:"retry,omitempty"`
}

// RequestMessage is one message of a request.
type RequestMessage struct {
	// Role: system, developer, user, assistant.
	Role string `json:"role"`
	// Content as text, or as a list of text parts.
	Content Content `json:"content"`
}

// Content is a message's text, written as a string or as a list of text parts.
type Content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *Content) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err == nil {
		if text != nil {
			*c = Content(*text)
		}
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("content must be text or a list of text parts")
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return fmt.Errorf("content part of type %q is not supported: send text", p.Type)
		}
		b.WriteString(p.Text)
	}
	*c = Content(b.String())
	return nil
}

// Completion is an answer, whole or one chunk of a stream.
type Completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
	// Hermes is the extension of a whole answer.
	Hermes *CompletionInfo `json:"hermes,omitempty"`
}

// CompletionInfo says what an answer took.
type CompletionInfo struct {
	Session    string `json:"session"`
	Model      string `json:"model,omitempty"`
	ModelCalls int    `json:"model_calls"`
	ToolCalls  int    `json:"tool_calls"`
	// PendingSteer is what was said to the turn and found no place in it: say it again as a turn.
	PendingSteer string `json:"pending_steer,omitempty"`
}

// Choice is the one choice of an answer.
type Choice struct {
	Index        int     `json:"index"`
	Message      *Reply  `json:"message,omitempty"`
	Delta        *Reply  `json:"delta,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

// Reply is what the assistant says.
type Reply struct {
	Role             string `json:"role,omitempty"`
	Content          string `json:"content,omitempty"`
	ReasoningContent string `json:"reasoning_content,omitempty"`
}

// Usage in tokens, as in OpenAI's API.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
}

// Event is one of hermes' own events in a stream.
type Event struct {
	// Type: session, title, tool_start, tool_end, steer, approval, approval_done, question, question_done, retry,
	// compacted, done; error only where a
	// session is followed.
	Type    string `json:"type"`
	Session string `json:"session,omitempty"`
	// Tool and CallID name the call of a tool or approval event.
	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
	// Summary says what the call does, why something is tried again, what was said to the turn, or the title.
	Summary string `json:"summary,omitempty"`
	// Command is the complete command that an approval is about.
	Command string `json:"command,omitempty"`
	// Reason says why approval is asked.
	Reason string `json:"reason,omitempty"`
	// Covers says what session and always cover; empty when no decision covers more than this call.
	Covers string `json:"covers,omitempty"`
	// Question and Options come with question: the agent asks its person something. Any text answers it.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Decision comes with approval_done: once, session, always or deny.
	Decision string `json:"decision,omitempty"`
	// Result is the beginning of a tool's result.
	Result  string `json:"result,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
	// Millis is how long a tool took, or how long a retry waits.
	Millis int64 `json:"ms,omitempty"`
	// Compacted says what was made smaller.
	Compacted *Compacted `json:"compacted,omitempty"`
	// Info comes with done.
	Info  *CompletionInfo `json:"info,omitempty"`
	Usage *Usage          `json:"usage,omitempty"`
}

// Decision is the body of an answer to an approval or a question.
type Decision struct {
	// Decision: once, session, always, deny, or nobody when there is nobody to ask. A question takes answer, deny or
	// nobody.
	Decision string `json:"decision"`
	// Answer is the text that answers a question.
	Answer string `json:"answer,omitempty"`
}

// ErrorBody is the body of every error.
type ErrorBody struct {
	Error Error `json:"error"`
}

// Error is what went wrong. It implements error for the client.
type Error struct {
	// Message says what to change.
	Message string `json:"message"`
	// Type as in OpenAI's API: invalid_request_error, server_error and so on.
	Type string `json:"type"`
	// Code is the stable name of the cause.
	Code string `json:"code"`
	// RetryAfter is when trying again makes sense, in seconds; 0 when unknown.
	RetryAfter int64 `json:"retry_after,omitempty"`
	// Status is the HTTP status, 0 when there is none.
	Status int `json:"-"`
	// Err is what lies underneath, on the side where it happened.
	Err error `json:"-"`
	// final asks client libraries not to send the request again by themselves: what the user said is stored, or only a
	// person can help.
	final bool
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap gives what lies underneath.
func (e *Error) Unwrap() error { return e.Err }
