package chat

import (
	"os"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

func TestCompressCommand(t *testing.T) {
	r := newRig(t)
	r.model.Respond(func(req fakemodel.Request) fakemodel.Turn {
		if len(req.Parsed.Tools) == 0 {
			return fakemodel.Text("a summary")
		}
		return fakemodel.Text(strings.Repeat("blah ", 300))
	})
	lines := []string{"/compress"}
	for range 8 {
		lines = append(lines, "and then?")
	}
	r.chat.Live, r.chat.Lines = true, &typed{lines: append(lines, "/compress the colours", "go on")}
	must(t, r.chat.Loop(ctx(t)))
	for _, want := range []string{"nothing to compress yet", "16 messages became", "tokens became"} {
		if !strings.Contains(r.notes.String(), want) {
			t.Errorf("notes lack %q: %s", want, r.notes.String())
		}
	}
	requests := r.model.Requests()
	if len(requests) != 10 || !strings.Contains(string(requests[8].Body), "the colours") || !strings.Contains(string(requests[9].Body), "a summary") {
		t.Errorf("%d requests", len(requests))
	}
}

// TestInterruptedCompress: Ctrl-C ends it, nothing has changed, and the session goes on.
func TestInterruptedCompress(t *testing.T) {
	r := newRig(t)
	interrupts := make(chan os.Signal, 1)
	gate := make(chan struct{})
	defer close(gate)
	r.model.Respond(func(req fakemodel.Request) fakemodel.Turn {
		if len(req.Parsed.Tools) == 0 {
			interrupts <- os.Interrupt
			return fakemodel.Turn{Text: "late", Gate: gate}
		}
		return fakemodel.Text(strings.Repeat("blah ", 300))
	})
	lines := []string{}
	for range 8 {
		lines = append(lines, "and then?")
	}
	r.chat.Interrupts, r.chat.Live, r.chat.Lines = interrupts, true, &typed{lines: append(lines, "/compress", "go on")}
	must(t, r.chat.Loop(ctx(t)))
	if got := r.notes.String(); !strings.Contains(got, "! interrupted; the session is as it was") || strings.Contains(got, "became") {
		t.Errorf("notes %s", got)
	}
	if ms := r.model.Requests()[9].Parsed.Decoded(); len(ms) != 18 || ms[17].Content != "go on" {
		t.Errorf("%d messages", len(ms))
	}
}

func TestLastExchangeIsNoSummary(t *testing.T) {
	rows := []localapi.TranscriptRow{
		{Role: "user", Content: "said"}, {Role: "assistant", Content: "replied"}, {Role: "user", Content: "a summary", Summary: true},
		{Role: "assistant", Content: "more"},
	}
	if got := lastExchange(rows); len(got) != 3 || got[0].Content != "said" || got[2].Content != "more" {
		t.Errorf("%+v", got)
	}
}

func TestCompactedText(t *testing.T) {
	for want, c := range map[string]localapi.Compacted{
		"can be made smaller":        {},
		"9 messages became 4, about": {Done: true, RowsBefore: 9, RowsAfter: 4},
		"lists what happened (500":   {Done: true, Fallback: true, Failure: "500 from x"},
	} {
		if got := compactedText(c); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}
