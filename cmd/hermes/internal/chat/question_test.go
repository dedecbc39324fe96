package chat

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

func TestAnswerOf(t *testing.T) {
	options := []string{"red", "blue"}
	for line, want := range map[string]localapi.Decision{
		"2": {Decision: "answer", Answer: "blue"}, " 1 ": {Decision: "answer", Answer: "red"}, "3": {Decision: "answer", Answer: "3"}, "0": {Decision: "answer", Answer: "0"},
		"green, please": {Decision: "answer", Answer: "green, please"}, "": {Decision: "deny"}, "  ": {Decision: "deny"},
	} {
		if got := answerOf(line, options); got != want {
			t.Errorf("%q = %+v, want %+v", line, got, want)
		}
	}
}

func TestQuestionsInChat(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		noLines bool
		yes     bool
		result  string
		notes   string
	}{
		"a number":     {answers: []string{"2"}, result: "The person answers: blue", notes: "    2  blue"},
		"own words":    {answers: []string{"green"}, result: "The person answers: green", notes: "? alice asks: Which one?"},
		"nothing":      {answers: []string{""}, result: "does not want to answer", notes: "alice asks"},
		"end of input": {result: "does not want to answer", notes: "alice asks"},
		"nobody":       {noLines: true, result: "nobody is present", notes: "not answered, because nobody can be asked here: Which one?"},
		"--yes":        {noLines: true, yes: true, result: "nobody is present", notes: "not answered"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.chat.Yes = c.yes
			if !c.noLines {
				r.chat.Lines = &typed{answers: c.answers}
			}
			r.model.Script(fakemodel.Calls(call("1", "clarify", `{"question":"Which one?","options":["red","blue"]}`)), fakemodel.Text("done"))
			_, err := r.chat.Once(ctx(t), "go", false)
			must(t, err)
			ms := r.model.Requests()[1].Parsed.Decoded()
			if got := ms[len(ms)-1].Content; !strings.Contains(got, c.result) || !strings.Contains(r.notes.String(), c.notes) {
				t.Errorf("result %q, notes %q", got, r.notes.String())
			}
		})
	}
}

// A dangerous command is asked about every time, so no answer covers more than this one.
func TestDangerousCommandsOfferNoAlways(t *testing.T) {
	r := newRig(t)
	lines := &typed{answers: []string{"a", "o"}}
	r.chat.Lines = lines
	r.model.Script(fakemodel.Calls(call("1", "terminal", `{"command":"true sudo"}`)), fakemodel.Text("done"))
	_, err := r.chat.Once(ctx(t), "go", false)
	must(t, err)
	if len(lines.asked) != 2 || strings.Contains(lines.asked[0], "lways") || !strings.Contains(r.notes.String(), "asked about every time") {
		t.Errorf("asked %q, notes %q", lines.asked, r.notes.String())
	}
}
