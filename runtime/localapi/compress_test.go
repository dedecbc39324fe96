package localapi_test

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

// TestCompress makes a session smaller over the socket, and tells what a refusal led to in a stream.
func TestCompress(t *testing.T) {
	r := newRig(t)
	r.model.Respond(func(req fakemodel.Request) fakemodel.Turn {
		switch {
		case len(req.Parsed.Tools) == 0:
			return fakemodel.Text("a summary")
		case len(req.Body) > 32_000:
			return fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Code: "context_length_exceeded"}}
		}
		return fakemodel.Text(strings.Repeat("blah ", 200))
	})
	id := idOf("long")
	var told *localapi.Compacted
	for range 40 {
		_, err := r.client.Stream(ctx(t), say(id, strings.Repeat("words ", 100)), func(i localapi.StreamItem) {
			if i.Event != nil && i.Event.Type == "compacted" {
				told = i.Event.Compacted
			}
		})
		must(t, err)
	}
	if told == nil || !told.Done || told.TokensAfter >= told.TokensBefore || told.RowsAfter >= told.RowsBefore {
		t.Fatalf("told %+v", told)
	}
	got, err := r.client.Compress(ctx(t), "alice", id, "the words")
	must(t, err)
	if !got.Done || got.Fallback || got.TokensAfter >= got.TokensBefore {
		t.Errorf("%+v", got)
	}
	detail, err := r.client.Session(ctx(t), "alice", id)
	must(t, err)
	summaries := 0
	for _, row := range detail.Transcript {
		if row.Summary && row.Role == "user" {
			summaries++
		}
	}
	if summaries != 1 || detail.Preview != "" || detail.Unfinished {
		t.Errorf("%d summaries in %+v", summaries, detail.SessionInfo)
	}
	if _, err := r.client.Compress(ctx(t), "alice", "none", ""); apiError(t, err).Code != "session_not_found" {
		t.Error(err)
	}
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { // whatever is left is too much
		return fakemodel.Turn{Fault: fakemodel.Fault{Status: 400, Code: "context_length_exceeded"}}
	})
	_, err = r.client.Complete(ctx(t), say(id, strings.Repeat("endless ", 10_000)))
	if e := apiError(t, err); e.Status != 413 || e.Code != "conversation_too_long" || !strings.Contains(e.Message, "begin a new session") {
		t.Errorf("%+v", e)
	}
}
