package llm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Codes our own client gives to failures that carry none from the server.
const (
	// CodeCredentialMissing: no key is configured, so no request was sent.
	CodeCredentialMissing = "credential_missing"
	// CodeConnect: no connection could be made.
	CodeConnect = "connect_failed"
	// CodeFirstByteTimeout: connected, but no byte of an answer came in time.
	CodeFirstByteTimeout = "first_byte_timeout"
	// CodeIdleTimeout: the stream fell silent in the middle.
	CodeIdleTimeout = "idle_timeout"
	// CodeKeepaliveOnly: the stream carried nothing but keepalives for too long (L9).
	CodeKeepaliveOnly = "keepalive_only"
	// CodeStreamTruncated: the stream ended before the answer did (L5).
	CodeStreamTruncated = "stream_truncated"
	// CodeStreamMalformed: a frame of the stream, or the answer, is not what the protocol says.
	CodeStreamMalformed = "stream_malformed"
	// CodeResponseTooLarge: the answer passed the client's size limit.
	CodeResponseTooLarge = "response_too_large"
	// CodeEmptyResponse: the server answered with nothing.
	CodeEmptyResponse = "empty_response"
	// CodeRedirect: the server answered with a redirect, which is never followed.
	CodeRedirect = "redirect"
	// CodeNotAnAPI: the answer is not chat completions at all, a web page for example.
	CodeNotAnAPI = "not_an_api"
	// CodeToolJSON: the server could not parse a tool call the model itself wrote (L21).
	CodeToolJSON = "tool_json"
	// CodeRefit: the conversation cannot be made to fit a fallback's window (L19).
	CodeRefit = "refit"
	// CodeEncode: the request cannot be written as JSON.
	CodeEncode = "encode"
)

// maxErrorText is the longest error text a model or a person gets, in bytes. Implements T5.
const maxErrorText = 2048

// Error is a failed model call. Its text names the host that refused (L25), is capped at 2048 bytes and never
// contains a key.
type Error struct {
	Verdict
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Code is the server's own error code, or one of the Code constants.
	Code string
	// Host is the host (with its port, when not the default) the request went to.
	Host string
	// Message says what the server said, or what to change.
	Message string
	// RetryAfter is how long the server asked us to wait, at most 600 s; 0 when it did not say.
	RetryAfter time.Duration
	// Local is true for a bug on our side: no server saw the request (L27).
	Local bool
	// Err is the transport error underneath, if any.
	Err error
}

// Error implements error: the reason and the text. Without a connection there is only the text, because the reason
// of that class says "timeout" and what happened is seldom one.
func (e *Error) Error() string {
	if e.Code == CodeConnect && e.Reason == ReasonTimeout {
		return e.Text()
	}
	return clip(string(e.Reason)+": "+e.Text(), maxErrorText)
}

// Text says what happened without the name of the reason.
func (e *Error) Text() string {
	var b strings.Builder
	if e.Status != 0 {
		b.WriteString(strconv.Itoa(e.Status))
		b.WriteString(" from ")
	}
	if e.Host != "" && !strings.Contains(e.Message, e.Host) {
		b.WriteString(e.Host)
		b.WriteString(": ")
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	case e.Code != "":
		b.WriteString(e.Code)
	default:
		b.WriteString("no details given")
	}
	return clip(b.String(), maxErrorText)
}

// Unwrap gives the transport error.
func (e *Error) Unwrap() error { return e.Err }

// newError builds an Error of a reason with the verdict of its row.
func newError(r Reason, code, host, format string, args ...any) *Error {
	return &Error{Verdict: verdict(r), Code: code, Host: host, Message: fmt.Sprintf(format, args...)}
}

// clip shortens s to at most n bytes without cutting a character in two.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	cut := n - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

// redact removes secrets from a text. Servers echo the key they refuse.
func redact(s string, secrets ...string) string {
	for _, k := range secrets {
		if len(k) >= 4 {
			s = strings.ReplaceAll(s, k, "[key]")
		}
	}
	return s
}
