package llm

import (
	"net/http"
	"net/url"
)

// Dialect names the protocol a route speaks.
type Dialect string

// The dialects.
const (
	// DialectChat is OpenAI-compatible chat completions.
	DialectChat Dialect = "chat_completions"
	// DialectMessages is the Anthropic messages API, of Anthropic and of the servers that imitate it.
	DialectMessages Dialect = "anthropic_messages"
)

// dialect is one protocol: where requests go, what they look like, and how an answer is read. Everything else about a
// call (transport, watchdog, keys, retries) is the one client's.
type dialect interface {
	// endpoint is where requests go, below a base URL.
	endpoint(base *url.URL) *url.URL
	// authorize puts the key ("" for none) and the protocol's own headers into a request.
	authorize(h http.Header, key string, rt Route)
	// encode builds the body of a request. Request N+1 of a session starts with the messages of request N.
	encode(r Request, rt Route, w rewrites) ([]byte, error)
	// answer makes the assembler of one answer.
	answer(host string) answer
}

// answer puts the pieces of one answer together. It never gives out a message that is not complete (L5).
type answer interface {
	// event takes one event of a stream and reports its pieces. Its errors are *Error.
	event(name string, data []byte, emit func(Delta)) (sighting, error)
	// whole takes an answer that came in one piece.
	whole(data []byte, emit func(Delta)) error
	// finished reports whether the server said that the answer is complete.
	finished() bool
	// size is how many bytes and tool calls the answer has so far.
	size() (bytes, calls int)
	// response gives the finished answer, or the error of one that says nothing. done is true when the server ended
	// the stream properly, even though it may have named no reason for the end.
	response(done bool) (Response, error)
}

// sighting is what an event meant for the timers.
type sighting int

const (
	sawNothing sighting = iota // a sign of life, no content (L9)
	sawContent
	sawEnd
)

// wire is the protocol of the route.
func (r Route) wire() dialect {
	if r.Dialect == DialectMessages {
		return messagesDialect{}
	}
	return chatDialect{}
}

// chatDialect is DialectChat.
type chatDialect struct{}

var _ dialect = chatDialect{}

func (chatDialect) endpoint(base *url.URL) *url.URL { return base.JoinPath("chat", "completions") }

func (chatDialect) authorize(h http.Header, key string, _ Route) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (chatDialect) encode(r Request, rt Route, w rewrites) ([]byte, error) {
	return encodeChat(w.apply(r), rt, w)
}

func (chatDialect) answer(host string) answer { return &assembler{host: host} }

// conclude checks an assembled answer: it must be complete and it must say something.
func conclude(r Response, host string, done bool) (Response, error) {
	m := &r.Message
	if r.FinishReason == "" && !done {
		return Response{}, newError(ReasonTimeout, CodeStreamTruncated, host, "the answer ended before it was complete")
	}
	if m.Content == "" && len(m.ToolCalls) == 0 && r.FinishReason != FinishPause {
		switch {
		case r.FinishReason == FinishContentFilter:
			return Response{}, newError(ReasonContentPolicy, FinishContentFilter, host, "the provider's safety filter withheld the answer")
		case m.Reasoning != "":
			return Response{}, newError(ReasonIncomplete, r.FinishReason, host, "the model only thought and gave no answer (finish reason %q)", r.FinishReason)
		}
		return Response{}, newError(ReasonServerError, CodeEmptyResponse, host, "the answer is empty")
	}
	if r.FinishReason == "" {
		r.FinishReason = FinishStop
	}
	return r, nil
}
