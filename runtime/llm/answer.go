package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"hermes.dev/hermes/runtime/llm/sse"
)

// readStream assembles an event stream. Errors that are not *Error come from the connection.
func (c *Client) readStream(body io.Reader, w *watchdog, emit func(Delta)) (Response, error) {
	host := c.o.Route.Host()
	dec := sse.NewDecoder(body, maxEvent)
	w.sawContent(c.o.Timeouts.Content)
	a := c.o.Route.wire().answer(host)
	for {
		event, err := dec.Next()
		switch {
		case errors.Is(err, io.EOF):
			return a.response(false)
		case errors.Is(err, sse.ErrTooLarge):
			return Response{}, oversized(host, "an event of the answer is larger than %d bytes", maxEvent)
		case err != nil:
			if a.finished() {
				return a.response(false) // only the epilogue is missing
			}
			return Response{}, err
		case len(bytes.TrimSpace(event.Data)) == 0:
			continue // keepalive (L9)
		}
		seen, err := a.event(event.Name, event.Data, emit)
		if err != nil {
			return Response{}, err
		}
		if err := tooLarge(a, host); err != nil {
			return Response{}, err
		}
		switch seen {
		case sawEnd:
			return a.response(true)
		case sawContent:
			w.sawContent(c.o.Timeouts.Content)
		}
	}
}

// readWhole reads an answer that came in one piece and reports it as one delta.
func (c *Client) readWhole(body io.Reader, emit func(Delta)) (Response, error) {
	host := c.o.Route.Host()
	b, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return Response{}, err
	}
	if len(b) > maxAnswer {
		return Response{}, oversized(host, "the answer is larger than %d bytes", maxAnswer)
	}
	a := c.o.Route.wire().answer(host)
	if err := a.whole(b, emit); err != nil {
		return Response{}, err
	}
	if err := tooLarge(a, host); err != nil {
		return Response{}, err
	}
	return a.response(true)
}

// tooLarge is the error of an answer that has grown beyond what anybody can have asked for, or nil.
func tooLarge(a answer, host string) error {
	switch bytes, calls := a.size(); {
	case bytes > maxAnswer:
		return oversized(host, "the answer is larger than %d bytes", maxAnswer)
	case calls > maxCalls:
		return oversized(host, "the answer calls more than %d tools at once", maxCalls)
	}
	return nil
}

// oversized is the error of an answer without end. It was paid for and the model would give it again, so that only
// another model is worth asking.
func oversized(host, format string, limit int) *Error {
	return newError(ReasonIncomplete, CodeResponseTooLarge, host, format+": ask for less at once, or give the profile another model", limit)
}

// bodyError is an error object inside an answer whose status said that all is well.
func bodyError(w *wireError, host string) *Error {
	v := Classify(Failure{Code: w.code(), Type: w.Type, Message: w.Message})
	return &Error{Verdict: v, Code: firstOf(w.code(), w.Type), Host: host, Message: clip(w.Message, maxErrorText)}
}

// malformed is the error of an event, or an answer, that is not what the protocol says.
func malformed(host string, err error) *Error {
	e := newError(ReasonServerError, CodeStreamMalformed, host, "an event of the answer is not valid JSON: %v", err)
	e.Err = err
	return e
}

// statusError explains an answer that is not a 200.
func (c *Client) statusError(parent context.Context, req Request, key string, h *http.Response, body io.Reader) error {
	host := c.o.Route.Host()
	if h.StatusCode >= 300 && h.StatusCode < 400 {
		e := newError(ReasonFormat, CodeRedirect, host, "redirects to %s, which is not followed: put the final address into the base URL", redirectHost(h))
		e.Status = h.StatusCode
		return e
	}
	b, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	if err != nil && parent.Err() != nil {
		return context.Cause(parent)
	}
	f := Failure{Status: h.StatusCode, HTML: mediaType(h.Header) == "text/html", Large: c.large(req), Thinks: thinks(req)}
	f.Code, f.Type, f.Message = parseErrorBody(b)
	wait := RetryAfter(h.Header, c.o.Clock.Now())
	f.ResetKnown = wait > 0
	e := &Error{Verdict: Classify(f), Status: h.StatusCode, Code: firstOf(f.Code, f.Type), Host: host, RetryAfter: wait}
	switch {
	case f.HTML:
		e.Message = "answered with a web page instead of an API error"
	case f.Message != "":
		e.Message = clip(redact(strings.ToValidUTF8(f.Message, "�"), key), maxErrorText)
	default:
		e.Message = strings.ToLower(http.StatusText(h.StatusCode))
	}
	return e
}

// parseErrorBody finds code, type and text in the shapes servers use: {"error":{…}}, {"error":"…"}, {"message":…},
// {"detail":…}, a list of one of these, or plain text.
func parseErrorBody(b []byte) (code, typ, message string) {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(b, &list) == nil && len(list) > 0 {
			b = list[0]
		}
	}
	var w struct {
		Error   *wireError      `json:"error"`
		Message string          `json:"message"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(b, &w) != nil {
		return "", "", string(b)
	}
	if w.Error != nil {
		return w.Error.code(), w.Error.Type, w.Error.Message
	}
	plain := wireError{Code: w.Code}
	message = w.Message
	if message == "" && len(w.Detail) > 0 {
		if json.Unmarshal(w.Detail, &message) != nil {
			message = string(w.Detail)
		}
	}
	return plain.code(), w.Type, message
}

// redirectHost names where a redirect points without repeating what its URL may carry.
func redirectHost(h *http.Response) string {
	u, err := h.Location()
	if err != nil {
		return "no address"
	}
	return u.Scheme + "://" + u.Host
}

func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return strings.TrimSpace(strings.SplitN(h.Get("Content-Type"), ";", 2)[0])
	}
	return t
}

func firstOf(s ...string) string {
	for _, v := range s {
		if v != "" {
			return v
		}
	}
	return ""
}
