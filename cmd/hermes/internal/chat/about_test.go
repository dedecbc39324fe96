package chat

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestTitleAndModel: a title is shown and given, and the model is named with the way to change it.
func TestTitleAndModel(t *testing.T) {
	r := newRig(t)
	r.model.Title(fakemodel.Text("\"\""))
	r.chat.Live = true
	r.chat.Lines = &typed{lines: []string{"/title x", "/model", "hello", "/title Tax return", "/title", "/model gpt-x", "/model a'b", "/steer more"}}
	must(t, r.chat.Loop(ctx(t)))
	for _, want := range []string{
		"! nothing was said yet\n", "nothing has answered in this session yet\n", "this session is called Tax return\n", "\nTax return\n",
		`kubectl patch hprof alice --type merge -p '{"spec":{"model":{"name":"gpt-x"}}}'`, `"a'b" is no name of a model`, "no turn is running: say it as a message",
	} {
		if !strings.Contains(r.notes.String(), want) {
			t.Errorf("notes lack %q: %s", want, r.notes.String())
		}
	}
	s, err := r.chat.Client.SessionHead(ctx(t), "alice", r.chat.Session)
	must(t, err)
	r.notes.data.Reset()
	must(t, r.chat.modelCommand(ctx(t), ""))
	if s.Model == "" || !strings.HasPrefix(r.notes.String(), "answered by "+s.Model+"\n") || s.TitleSource != "user" {
		t.Errorf("%q, %+v", r.notes.String(), s)
	}
}

// TestOlderGateway: a command that the gateway lacks says what to do.
func TestOlderGateway(t *testing.T) {
	c := &Chat{Target: Target{Gateway: "home"}}
	err := c.older(&localapi.Error{Status: http.StatusNotFound, Code: "unknown_path", Message: "POST /x is not part of this API"}, "/undo")
	if got := fmt.Sprint(err); got != "the gateway is older than this program and does not know /undo: hermes gateway restart home replaces it" {
		t.Error(got)
	}
	if err := c.older(context.Canceled, "/undo"); err != context.Canceled {
		t.Error(err)
	}
}

// TestResumePicks: without a session, the person chooses one where that is possible.
func TestResumePicks(t *testing.T) {
	r := newRig(t)
	first, err := r.chat.Once(ctx(t), "one", false)
	must(t, err)
	r.chat.Session = ""
	r.chat.Pick = func(_ context.Context, list []localapi.SessionInfo) (string, error) { return list[0].ID, nil }
	r.chat.Lines = &typed{lines: []string{"/resume"}}
	must(t, r.chat.Loop(ctx(t)))
	if r.chat.Session != first.Session || !strings.Contains(r.notes.String(), "going on with session "+first.Session) {
		t.Errorf("%q, %q", r.chat.Session, r.notes.String())
	}
}
