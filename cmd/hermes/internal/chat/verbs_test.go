package chat

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestVerbs: taking back, saying again, beginning anew and asking for the bill.
func TestVerbs(t *testing.T) {
	r := newRig(t)
	r.chat.Live = true
	r.model.Title(fakemodel.Text("\"\""))
	r.model.Script(fakemodel.Text("first"), fakemodel.Text("second"), fakemodel.Text("third"), fakemodel.Text("fourth"))
	r.chat.Lines = &typed{lines: []string{"/undo", "/usage", "/new", "one", "two", "/retry", "/undo", "/usage", "/new", "three", "/quit"}}
	must(t, r.chat.Loop(ctx(t)))
	requests := r.model.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	if ms := requests[2].Parsed.Decoded(); len(ms) != 4 || ms[3].Content != "two" {
		t.Errorf("/retry asked %+v", ms)
	}
	if ms := requests[3].Parsed.Decoded(); len(ms) != 2 || ms[1].Content != "three" {
		t.Errorf("/new asked %+v", ms)
	}
	for _, want := range []string{"nothing was said yet", "taken back: two", "conversation  3", "total", "a new session begins"} {
		if !strings.Contains(r.notes.String(), want) {
			t.Errorf("notes lack %q: %s", want, r.notes.String())
		}
	}
	s, err := r.chat.Client.Session(ctx(t), "alice", r.chat.Session)
	must(t, err)
	if s.Parent == "" || len(s.Transcript) != 2 {
		t.Errorf("%+v", s)
	}
}

// TestPendingSteerIsSaidNext: what another client said to a turn and found no place in it becomes a turn (P-36).
func TestPendingSteerIsSaidNext(t *testing.T) {
	r := newRig(t)
	r.chat.Live = true
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "first", Gate: gate}, fakemodel.Text("second"))
	r.chat.Lines = &typed{lines: []string{"one", "/quit"}}
	done := make(chan error, 1)
	go func() { done <- r.chat.Loop(ctx(t)) }()
	_, err := r.model.WaitRequests(ctx(t), 1)
	must(t, err)
	list, err := r.chat.Client.Sessions(ctx(t), "alice", localapi.SessionFilter{})
	must(t, err)
	if ok, err := r.chat.Client.Steer(ctx(t), "alice", list[0].ID, "and two"); !ok || err != nil {
		t.Error(ok, err)
	}
	close(gate)
	must(t, <-done)
	if requests := r.model.Requests(); len(requests) != 2 || requests[1].Parsed.Decoded()[3].Content != "and two" || !strings.Contains(r.out.String(), "second") {
		t.Errorf("%d requests, out %q", len(requests), r.out.String())
	}
}
