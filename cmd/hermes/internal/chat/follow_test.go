package chat

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/test/fakemodel"
)

// waiting is a person who says one thing and then reads what is shown until it is there.
type waiting struct {
	typed
	shown func() bool
	then  func()
}

func (w *waiting) Read(ctx context.Context, prompt string) (string, bool, error) {
	if len(w.lines) > 0 {
		return w.typed.Read(ctx, prompt)
	}
	w.then()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !w.shown() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
	}
	return "", false, io.EOF
}

// An open conversation shows the turn that the end of a delegation brings, without a word of the person.
func TestLoopShowsTheEndOfADelegation(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("d", "delegate_task", `{"goal":"find it","async":true}`)}})
	r.model.Respond(func(q fakemodel.Request) fakemodel.Turn {
		all := q.Parsed.Decoded()
		switch last := all[len(all)-1]; {
		case last.Content == "find it":
			return fakemodel.Turn{Text: "in the drawer", Gate: gate}
		case strings.HasPrefix(last.Content, "[ASYNC DELEGATION COMPLETE]"):
			return fakemodel.Text("It was in the drawer.")
		}
		return fakemodel.Text("begun")
	})
	r.chat.Lines = &waiting{
		typed: typed{lines: []string{"find it for me"}}, then: func() { close(gate) },
		shown: func() bool { return strings.Contains(r.notes.String(), "It was in the drawer.") },
	}
	must(t, r.chat.Loop(ctx(t)))
	if !strings.Contains(r.notes.String(), "what it delegated has ended") {
		t.Errorf("%s", r.notes.String())
	}
}
