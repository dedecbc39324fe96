package localapi_test

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestSteer: what is said to a running turn over another connection is in its next request and in its stream; a turn
// without one hands it back; and nobody takes it when no turn runs (P-35, P-36, P-38).
func TestSteer(t *testing.T) {
	r := newRig(t)
	steer := func(text string) bool {
		ok, err := r.client.Steer(ctx(t), "alice", idOf("s"), text)
		must(t, err)
		return ok
	}
	if steer("nobody listens") {
		t.Error("accepted without a turn")
	}
	gate := make(chan struct{})
	r.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)),
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("2", "list_dir", `{}`)}, Gate: gate}, fakemodel.Text("a text that comes in pieces"))
	said, late, accepted := "", false, false
	go func() {
		defer close(gate)
		if _, err := r.model.WaitRequests(ctx(t), 2); err != nil {
			t.Error(err)
		}
		if !steer("look left") {
			t.Error("not accepted")
		}
	}()
	final, err := r.client.Stream(ctx(t), say(idOf("s"), "go"), func(i localapi.StreamItem) {
		switch {
		case i.Event != nil && i.Event.Type == "steer":
			said = i.Event.Summary
		case i.Text != "" && !late:
			late = true
			accepted = steer("and right") // the turn may be over by now
		}
	})
	must(t, err)
	if said != "look left" || r.roles(idOf("s")) != "uatatua" || accepted != (final.Info.PendingSteer == "and right") {
		t.Errorf("said %q, rows %s, %+v", said, r.roles(idOf("s")), final.Info)
	}
	ms := r.model.Requests()[2].Parsed.Decoded()
	if !strings.Contains(ms[len(ms)-1].Content, "look left") || !strings.Contains(ms[0].Content, "OUT-OF-BAND") {
		t.Errorf("%+v", ms)
	}
	if _, err := r.client.Steer(ctx(t), "alice", idOf("s"), " "); apiError(t, err).Status != 400 {
		t.Error(err)
	}
	if _, err := r.client.Steer(ctx(t), "bob", idOf("s"), "x"); apiError(t, err).Status != 404 {
		t.Error(err)
	}
}

// TestSteerComesBack in a whole answer too (P-36).
func TestSteerComesBack(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "hello", Gate: gate})
	done := make(chan localapi.Completion, 1)
	go func() {
		got, err := r.client.Complete(ctx(t), say(idOf("s"), "hi"))
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	for _, text := range []string{"one", "two"} {
		if ok, err := r.client.Steer(ctx(t), "alice", idOf("s"), text); !ok || err != nil {
			t.Error(ok, err)
		}
	}
	close(gate)
	if got := <-done; got.Hermes == nil || got.Hermes.PendingSteer != "one\ntwo" {
		t.Errorf("%+v", got.Hermes)
	}
}
