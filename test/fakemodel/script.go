package fakemodel

import "encoding/json"

// ToolCall is a call the scripted model makes. Arguments goes out as it is, so it may be broken on purpose.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Usage is what the server reports. The zero value reports numbers made from the lengths of the texts.
type Usage struct {
	Prompt     int64 `json:"prompt,omitempty"`
	Completion int64 `json:"completion,omitempty"`
	Cached     int64 `json:"cached,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
	// CacheWrite is reported by the messages dialect only.
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Turn is one answer of the script.
type Turn struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Signature signs the reasoning of a messages answer.
	Signature string `json:"signature,omitempty"`
	// Native are opaque items the client has to send back: content blocks of a messages answer, which come first, or
	// reasoning_details of a chat answer.
	Native    []json.RawMessage `json:"native,omitempty"`
	ToolCalls []ToolCall        `json:"toolCalls,omitempty"`
	// FinishReason defaults to "tool_calls" with tool calls and to "stop" without.
	FinishReason string `json:"finishReason,omitempty"`
	Usage        Usage  `json:"usage,omitempty"`
	// ChunkSize is how many characters of text or arguments an event carries; default 8.
	ChunkSize int `json:"chunkSize,omitempty"`
	// Keepalives is how many empty frames and comments go before every event.
	Keepalives int   `json:"keepalives,omitempty"`
	Fault      Fault `json:"fault,omitempty"`
	// Gate, when set, holds the answer back before its first byte until the channel is closed.
	Gate <-chan struct{} `json:"-"`
}

// Fault is what goes wrong with an answer. Byte counts refer to the body.
type Fault struct {
	// Status answers with an error of this status instead of the turn.
	Status int `json:"status,omitempty"`
	// Code, Type and Message fill the error object; Body replaces it altogether.
	Code    string `json:"code,omitempty"`
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
	Body    string `json:"body,omitempty"`
	// RetryAfter is sent as the Retry-After header as it is.
	RetryAfter string `json:"retryAfter,omitempty"`
	// ContentType replaces the answer's content type.
	ContentType string `json:"contentType,omitempty"`
	// RedirectTo answers 307 with this Location.
	RedirectTo string `json:"redirectTo,omitempty"`

	// NoHeaders never answers: the connection is held open without a byte.
	NoHeaders bool `json:"noHeaders,omitempty"`
	// NoFirstByte sends the headers and then nothing.
	NoFirstByte bool `json:"noFirstByte,omitempty"`
	// StallAfter falls silent after so many bytes.
	StallAfter int `json:"stallAfter,omitempty"`
	// TruncateAfter ends the body properly after so many bytes, in the middle of the answer.
	TruncateAfter int `json:"truncateAfter,omitempty"`
	// ResetAfter drops the connection after so many bytes.
	ResetAfter int `json:"resetAfter,omitempty"`
	// NoDone leaves out the final [DONE] (message_stop), as some servers do.
	NoDone bool `json:"noDone,omitempty"`
	// NoFinish leaves out the finish reason and [DONE]: the stream ends after the content.
	NoFinish bool `json:"noFinish,omitempty"`
	// Malformed puts an event that is not JSON after the first content.
	Malformed bool `json:"malformed,omitempty"`
	// StreamError puts an error object into the stream after the first content.
	StreamError bool `json:"streamError,omitempty"`
	// KeepaliveOnly streams keepalives, as fast as the client reads them, and nothing else.
	KeepaliveOnly bool `json:"keepaliveOnly,omitempty"`
	// HugeBody streams one event that never ends.
	HugeBody bool `json:"hugeBody,omitempty"`
	// ByteByByte flushes every single byte.
	ByteByByte bool `json:"byteByByte,omitempty"`
	// OmitIndex leaves the index out of tool calls; SameIndex gives all of them index 0; OmitID their id.
	OmitIndex bool `json:"omitIndex,omitempty"`
	SameIndex bool `json:"sameIndex,omitempty"`
	OmitID    bool `json:"omitID,omitempty"`
	// WrongIndex gives the pieces of a messages answer the index of a block that never began.
	WrongIndex bool `json:"wrongIndex,omitempty"`
	// ArgumentsAsObject sends arguments as a JSON object instead of a string.
	ArgumentsAsObject bool `json:"argumentsAsObject,omitempty"`
	// IgnoreStream answers in one piece although a stream was asked for.
	IgnoreStream bool `json:"ignoreStream,omitempty"`
}

// Text is a turn that answers with a text.
func Text(s string) Turn { return Turn{Text: s} }

// Calls is a turn that calls tools.
func Calls(c ...ToolCall) Turn { return Turn{ToolCalls: c} }

// Status is a turn that fails with an HTTP status.
func Status(code int) Turn { return Turn{Fault: Fault{Status: code}} }

// RateLimit is a 429 with a Retry-After header.
func RateLimit(retryAfter string) Turn {
	return Turn{Fault: Fault{Status: 429, RetryAfter: retryAfter, Code: "rate_limit_exceeded", Message: "Rate limit reached for requests"}}
}
