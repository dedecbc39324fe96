package localapi_test

import (
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestVerbs: undo, retry, a session in the place of another, and usage, with their errors.
func TestVerbs(t *testing.T) {
	r := newRig(t)
	id := idOf("s")
	r.model.Script(fakemodel.Text("first"), fakemodel.Text("wrong"), fakemodel.Text("right"))
	for _, text := range []string{"one", "two"} {
		_, err := r.client.Complete(ctx(t), say(id, text))
		must(t, err)
	}
	again := say(id, "")
	again.Messages, again.Hermes.Retry = nil, true
	got, err := r.client.Complete(ctx(t), again)
	must(t, err)
	if got.Choices[0].Message.Content != "right" || r.roles(id) != "uaua" {
		t.Errorf("%+v, rows %s", got, r.roles(id))
	}
	undone, err := r.client.Undo(ctx(t), "alice", id)
	must(t, err)
	if undone != (localapi.Undone{Text: "two", Rows: 2}) || r.roles(id) != "ua" {
		t.Errorf("%+v, rows %s", undone, r.roles(id))
	}
	usage, err := r.client.Usage(ctx(t), "alice", id)
	must(t, err)
	calls := int64(0)
	for _, part := range usage.Parts {
		calls += part.Calls
		if part.Model == "" || part.LastSeen.IsZero() {
			t.Errorf("%+v", part)
		}
	}
	if usage.Total.Calls != calls || calls < 3 || usage.Total.OutputTokens == 0 || usage.Session != id {
		t.Errorf("%+v", usage)
	}
	next, err := r.client.BeginSession(ctx(t), "alice", localapi.BeginSession{From: id})
	must(t, err)
	old, err := r.client.Session(ctx(t), "alice", id)
	must(t, err)
	if next.Parent != id || next.Source != "cli" || old.EndReason != "new_session" || old.EndedAt == nil {
		t.Errorf("%+v of %+v", next, old.SessionInfo)
	}
	empty := say("", "")
	empty.Messages, empty.Hermes.Retry = nil, true
	for name, c := range map[string]struct {
		err    func() error
		status int
		code   string
	}{
		"undo of nothing":    {func() error { _, err := r.client.Undo(ctx(t), "alice", next.ID); return err }, 400, "invalid_turn"},
		"undo of no session": {func() error { _, err := r.client.Undo(ctx(t), "alice", "none"); return err }, 404, "session_not_found"},
		"usage of none":      {func() error { _, err := r.client.Usage(ctx(t), "alice", "none"); return err }, 404, "session_not_found"},
		"after none": {func() error {
			_, err := r.client.BeginSession(ctx(t), "alice", localapi.BeginSession{From: "none"})
			return err
		}, 404, "session_not_found"},
		"after nothing": {func() error { _, err := r.client.BeginSession(ctx(t), "alice", localapi.BeginSession{}); return err }, 400, "invalid_request"},
		"no boundary": {func() error {
			_, err := r.client.BeginSession(ctx(t), "alice", localapi.BeginSession{From: id, Reason: "lru_evict"})
			return err
		}, 400, "invalid_turn"},
		"retry of no session": {func() error { _, err := r.client.Complete(ctx(t), empty); return err }, 400, "invalid_request"},
	} {
		if e := apiError(t, c.err()); e.Status != c.status || e.Code != c.code || e.Message == "" {
			t.Errorf("%s: %d %s %q", name, e.Status, e.Code, e.Message)
		}
	}
}
