package screen

import (
	"context"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/runtime/localapi"
)

// Messages of the conversation to the model.
type (
	// ready: the conversation waits for what the person says next.
	ready struct{ session string }
	// noted is a line apart from replies.
	noted struct{ line string }
	// turnBegan and the next two are a turn.
	turnBegan struct{ session string }
	turnItem  struct{ item localapi.StreamItem }
	turnEnded struct {
		reply string
		err   error
	}
	// asked waits for a decision, inquired for a line; gone takes either back.
	asked struct {
		question chat.Question
		answer   chan reaction
	}
	inquired struct {
		inquiry chat.Inquiry
		answer  chan reaction
	}
	gone struct{ answer chan reaction }
	// picking waits for a session's id on answer, "" is none.
	picking struct {
		sessions []localapi.SessionInfo
		answer   chan string
	}
	// loopEnded: the conversation is over.
	loopEnded struct{ err error }
)

// reaction is an answer; without ok the person interrupted instead.
type reaction struct {
	text string
	ok   bool
}

// input is what the person says, or io.EOF.
type input struct {
	text string
	err  error
}

// bridge is the screen as the conversation sees it. Its methods are called by the conversation's goroutine.
type bridge struct {
	said    chan input
	send    func(tea.Msg)
	session func() string
}

// Read implements chat.Lines. Only the conversation itself knows its session, and only here it holds still.
func (b *bridge) Read(ctx context.Context, _ string) (string, bool, error) {
	b.send(ready{b.session()})
	select {
	case in := <-b.said:
		return in.text, false, in.err
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

// Ask implements chat.Lines; decide asks instead.
func (b *bridge) Ask(context.Context, string) (string, error) { return "", io.EOF }

// Write implements io.Writer for notes.
func (b *bridge) Write(p []byte) (int, error) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(p), "\n"), "\n") {
		b.send(noted{line})
	}
	return len(p), nil
}

func (b *bridge) display(session string) chat.Display {
	b.send(turnBegan{session})
	return b
}

// Handle implements chat.Display.
func (b *bridge) Handle(i localapi.StreamItem) { b.send(turnItem{i}) }

// Note implements chat.Display.
func (b *bridge) Note(line string) { b.send(noted{line}) }

// Break implements chat.Display.
func (b *bridge) Break() {}

// End implements chat.Display.
func (b *bridge) End(reply string, err error) { b.send(turnEnded{reply, err}) }

func (b *bridge) decide(ctx context.Context, q chat.Question) string {
	answer := make(chan reaction, 1)
	b.send(asked{q, answer})
	return b.await(ctx, answer).text
}

func (b *bridge) inquire(ctx context.Context, q chat.Inquiry) (string, bool) {
	answer := make(chan reaction, 1)
	b.send(inquired{q, answer})
	r := b.await(ctx, answer)
	return r.text, r.ok
}

func (b *bridge) await(ctx context.Context, answer chan reaction) reaction {
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		b.send(gone{answer})
		return reaction{}
	}
}

func (b *bridge) pick(ctx context.Context, list []localapi.SessionInfo) (string, error) {
	answer := make(chan string, 1)
	b.send(picking{list, answer})
	select {
	case id := <-answer:
		return id, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
