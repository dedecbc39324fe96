package localapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"hermes.dev/hermes/runtime/llm/sse"
)

// maxStreamEvent bounds one event of a stream, in bytes.
const maxStreamEvent = 8 << 20

// StreamItem is one piece of a streamed turn: a piece of text, a piece of reasoning, or an event.
type StreamItem struct {
	Text, Reasoning string
	Event           *Event
}

// Final is what a streamed turn came to.
type Final struct {
	// Session of the turn, also after an error.
	Session string
	// Reply is the reply as it is stored: the text after the last tool call and the last retry.
	Reply        string
	FinishReason string
	Usage        *Usage
	// Info says what the turn took; nil when it ended with an error.
	Info *CompletionInfo
}

// Stream runs one turn and hands out what happens on the caller's goroutine. The turn ends when ctx does. The error is
// an *Error, or the cause of ctx. A stream that breaks off before its end is an error, however much text came.
func (c *Client) Stream(ctx context.Context, r CompletionRequest, handle func(StreamItem)) (Final, error) {
	ext := Extension{}
	if r.Hermes != nil {
		ext = *r.Hermes
	}
	ext.Events = true
	r.Hermes, r.Stream = &ext, true
	resp, err := c.send(ctx, r.Model, http.MethodPost, "/v1/chat/completions", r)
	if err != nil {
		return Final{Session: ext.Session}, err
	}
	defer resp.Body.Close()
	s := streamReader{handle: handle, final: Final{Session: resp.Header.Get(SessionHeader)}}
	err = s.read(resp.Body)
	s.final.Reply = s.reply.String()
	var stated *Error
	if err != nil && !errors.As(err, &stated) {
		err = c.broken(ctx, r.Model, err)
	}
	return s.final, err
}

type streamReader struct {
	handle func(StreamItem)
	final  Final
	reply  strings.Builder
}

func (s *streamReader) read(body io.Reader) error {
	dec := sse.NewDecoder(body, maxStreamEvent)
	for {
		event, err := dec.Next()
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF // a finished answer says so
		case err != nil:
			return err
		case len(event.Data) == 0:
			continue // keepalive
		case string(event.Data) == "[DONE]":
			return nil
		case event.Name == EventName:
			err = s.event(event.Data)
		case event.Name == "":
			err = s.chunk(event.Data)
		}
		if err != nil {
			return err
		}
	}
}

func (s *streamReader) event(data []byte) error {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("an event is not JSON: %w", err)
	}
	switch e.Type {
	case "tool_start", "retry":
		s.reply.Reset() // not the reply, or void
	case "done":
		s.final.Info, s.final.Usage = e.Info, e.Usage
	}
	s.handle(StreamItem{Event: &e})
	return nil
}

func (s *streamReader) chunk(data []byte) error {
	var c struct {
		Completion
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("a piece of the answer is not JSON: %w", err)
	}
	if c.Error != nil {
		return c.Error
	}
	for _, choice := range c.Choices {
		if choice.FinishReason != nil {
			s.final.FinishReason = *choice.FinishReason
		}
		if d := choice.Delta; d != nil && (d.Content != "" || d.ReasoningContent != "") {
			s.reply.WriteString(d.Content)
			s.handle(StreamItem{Text: d.Content, Reasoning: d.ReasoningContent})
		}
	}
	return nil
}
