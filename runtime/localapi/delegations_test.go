package localapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// A client that follows a session sees the turn that the end of a delegation brings, and the session shows both.
func TestFollowADelegation(t *testing.T) {
	r := newRig(t)
	gate, id := make(chan struct{}), idOf("s")
	r.model.Script(fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("d", "delegate_task", `{"goal":"find it","async":true}`)}})
	r.model.Respond(func(q fakemodel.Request) fakemodel.Turn {
		all := q.Parsed.Decoded()
		switch last := all[len(all)-1]; {
		case last.Content == "find it":
			return fakemodel.Turn{Text: "it is in the drawer", Gate: gate}
		case strings.HasPrefix(last.Content, "[ASYNC DELEGATION COMPLETE]"):
			return fakemodel.Text("in the drawer")
		}
		return fakemodel.Text("begun")
	})
	_, err := r.client.Stream(ctx(t), say(id, "find it for me"), nothing)
	must(t, err)
	list, err := r.client.Delegations(ctx(t), "alice", id)
	must(t, err)
	if len(list) != 1 || list[0].State != "running" || list[0].Parent != id || list[0].Goals[0] != "find it" || len(list[0].Children) != 1 || len(list[0].Results) != 0 {
		t.Fatalf("%+v", list)
	}
	follow, stop := context.WithCancel(ctx(t))
	defer stop()
	text := ""
	err = r.client.Follow(follow, "alice", id, func() { close(gate) }, func(i localapi.StreamItem) {
		text += i.Text
		if i.Event != nil && i.Event.Type == "done" {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || text != "in the drawer" {
		t.Errorf("%q, %v", text, err)
	}
	detail, err := r.client.Session(ctx(t), "alice", id)
	must(t, err)
	n := len(detail.Transcript)
	if len(detail.Delegations) != 1 || detail.Delegations[0].Results[0].Summary != "it is in the drawer" || n != 6 || detail.Transcript[4].Display != "notice" {
		t.Errorf("%+v", detail)
	}
	if all, err := r.client.Delegations(ctx(t), "alice", ""); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if none, err := r.client.Delegations(ctx(t), "alice", "other"); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
