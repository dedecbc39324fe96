package profile

import (
	"errors"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
)

// TestBeginSession: S-103 and S-104, the child stands for the same chat and names its parent, which has ended.
func TestBeginSession(t *testing.T) {
	r := newRig(t)
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "slack", SessionKey: "k", ChatID: "c", UserID: "u", UserText: "hi"}, nil)
	must(t, err)
	made, err := r.runtime.BeginSession(ctx(t), Begin{From: "s", Reason: session.EndSessionReset})
	must(t, err)
	old := r.session("s")
	if made.ParentID != "s" || made.SessionKey != "k" || made.ChatID != "c" || made.UserID != "u" || made.Source != "slack" ||
		!session.Marked(made.ModelConfig, session.ResetFrom, "s") || old.EndReason != "session_reset" || old.EndedAt.IsZero() {
		t.Errorf("S-103 %+v of %+v", made, old)
	}
	if res := r.mustSay(made.ID, "again"); res.SessionID != made.ID || r.roles(made.ID) != "ua" || r.roles("s") != "ua" {
		t.Errorf("%+v", res)
	}
	if _, err := r.runtime.BeginSession(ctx(t), Begin{From: "none"}); !errors.Is(err, store.ErrNoSession) {
		t.Error(err)
	}
	if _, err := r.runtime.BeginSession(ctx(t), Begin{From: "s", Reason: "agent_close"}); kind(t, err) != agent.KindInvalid {
		t.Errorf("S-104 %v", err)
	}
}

// TestVerbsOfABusySession: what a turn works on cannot be taken away from under it.
func TestVerbsOfABusySession(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "slow", Gate: gate})
	done := make(chan error, 1)
	go func() { _, err := r.say("s", "one"); done <- err }()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	if _, err := r.runtime.Undo(ctx(t), "s"); kind(t, err) != agent.KindBusy {
		t.Error(err)
	}
	if _, err := r.runtime.BeginSession(ctx(t), Begin{From: "s"}); kind(t, err) != agent.KindBusy {
		t.Error(err)
	}
	close(gate)
	must(t, <-done)
	undone, err := r.runtime.Undo(ctx(t), "s")
	must(t, err)
	if undone.Text != "one" || r.roles("s") != "" {
		t.Errorf("%+v, rows %s", undone, r.roles("s"))
	}
	if _, err := r.runtime.Undo(ctx(t), "none"); !errors.Is(err, store.ErrNoSession) {
		t.Error(err)
	}
}

// TestUsage: the conversation and what was done for it are booked apart.
func TestUsage(t *testing.T) {
	var told titles
	r := newRig(t, told.watch)
	r.model.Title(fakemodel.Turn{Text: "Named", Usage: fakemodel.Usage{Prompt: 7, Completion: 2}})
	r.model.Script(fakemodel.Turn{Text: "ok", Usage: fakemodel.Usage{Prompt: 100, Completion: 10, Cached: 40}})
	r.mustSay("s", "hi")
	told.wait(t, 2)
	total, parts, err := r.runtime.Usage(ctx(t), "s")
	must(t, err)
	if len(parts) != 2 || parts[0].Task != "" || parts[0].InputTokens != 60 || parts[0].CacheReadTokens != 40 ||
		parts[1].Task != agent.TaskTitle || parts[1].InputTokens != 7 || total.Usage.InputTokens != 67 || total.Usage.APICalls != 2 {
		t.Errorf("%+v\n%+v", total.Usage, parts)
	}
	if _, _, err := r.runtime.Usage(ctx(t), "none"); !errors.Is(err, store.ErrNoSession) {
		t.Error(err)
	}
}
