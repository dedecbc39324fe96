package agent_test

import (
	"context"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
)

// TestLastSaid: P-32, PA-28: a steer counts as said, a peer's message, a notice and a summary do not.
func TestLastSaid(t *testing.T) {
	row := func(text, kind string) store.Message {
		return store.Message{Role: "user", Content: text, DisplayKind: kind}
	}
	a := store.Message{Role: "assistant", Content: "a"}
	summary := store.Message{Role: "user", Content: "summary", CompressedSummary: true}
	for want, rows := range map[string][]store.Message{
		"question": {row("question", ""), row("peer", "peer_message"), a},
		"steer":    {row("question", ""), a, row("steer", "steer"), a},
		"first":    {row("first", ""), a, summary, row("note", "notice"), {Role: "tool", Content: "x"}},
		"":         {summary, a, row("peer", "peer_message")},
	} {
		if got, ok := agent.LastSaid(rows); got.Content != want || ok != (want != "") {
			t.Errorf("P-32 got %q, want %q", got.Content, want)
		}
	}
}

// TestUndoAndRetry: rows leave the conversation, the next request shows nothing of them, and the store keeps them.
func TestUndoAndRetry(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	b.mustSay("one")
	b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("wrong"), fakemodel.Text("right"), fakemodel.Text("next"))
	b.mustSay("two")
	r, err := b.loop.Run(ctx, agent.Turn{SessionID: "s", Retry: true}, nil)
	must(t, err)
	if r.Reply != "right" || b.roles() != "uaua" {
		t.Fatalf("%+v, rows %q", r, b.rows())
	}
	if ms := b.lastRequest(); len(ms) != 4 || ms[3].Content != "two" {
		t.Errorf("the request was %+v", ms)
	}
	undone, err := agent.Undo(ctx, b.store, "s")
	must(t, err)
	if undone != (agent.Undone{Text: "two", Rows: 2}) || b.roles() != "ua" {
		t.Errorf("%+v, rows %q", undone, b.rows())
	}
	b.mustSay("three")
	legal(t, b.lastRequest())
	for range 2 {
		_, err = agent.Undo(ctx, b.store, "s")
		must(t, err)
	}
	if _, err := agent.Undo(ctx, b.store, "s"); kindOf(t, err).Kind != agent.KindInvalid || b.roles() != "" {
		t.Errorf("%v, rows %q", err, b.rows())
	}
	for _, turn := range []agent.Turn{
		{SessionID: "s", Retry: true}, {SessionID: "none", Retry: true},
		{SessionID: "s", Retry: true, Resume: true}, {SessionID: "s", Retry: true, UserText: "x"},
	} {
		if _, err := b.loop.Run(ctx, turn, nil); kindOf(t, err).Kind != agent.KindInvalid {
			t.Errorf("%+v: %v", turn, err)
		}
	}
}
