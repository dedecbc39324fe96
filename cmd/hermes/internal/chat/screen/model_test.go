package screen

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	testingclock "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/runtime/localapi"
)

// bench is a model without a program: messages go in, and what it shows, says and interrupts is looked at.
type bench struct {
	*model
	t          *testing.T
	clock      *testingclock.FakePassiveClock
	said       chan input
	interrupts chan os.Signal
	gateway    *gateway
}

// gateway plays the answers to what the screen itself asks.
type gateway struct {
	steers   []string
	accepts  bool
	steerErr error
	session  localapi.SessionDetail
}

func (g *gateway) steer(_ context.Context, session, text string) (bool, error) {
	g.steers = append(g.steers, session+": "+text)
	return g.accepts, g.steerErr
}

func (g *gateway) head(context.Context, string) (localapi.SessionInfo, error) {
	return g.session.SessionInfo, nil
}

func (g *gateway) whole(context.Context, string) (localapi.SessionDetail, error) {
	return g.session, nil
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	o.Clock = clock
	b := &bench{model: newModel(o, "alice"), t: t, clock: clock, said: make(chan input, 1), interrupts: make(chan os.Signal, 1), gateway: &gateway{accepts: true}}
	b.model.said, b.model.interrupts, b.model.api = b.said, b.interrupts, b.gateway
	b.input.Focus()
	b.do(tea.WindowSizeMsg{Width: 60, Height: 24}, framed{}, answered{})
	return b
}

// do gives messages to the model and takes what it prints as printed.
func (b *bench) do(msgs ...tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	for _, msg := range msgs {
		cmd = b.update(msg)
	}
	return cmd
}

// answer runs a command that asks the gateway and gives its answer to the model.
func (b *bench) answer(cmd tea.Cmd) tea.Cmd {
	b.t.Helper()
	if cmd == nil {
		b.t.Fatal("nothing is asked")
	}
	return b.do(cmd())
}

func (b *bench) press(keys ...string) {
	for _, k := range keys {
		b.do(keyOf(k))
	}
}

func (b *bench) typeText(text string) {
	for _, r := range text {
		b.do(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func keyOf(name string) tea.KeyPressMsg {
	switch name {
	case "ctrl+c", "ctrl+d":
		return tea.KeyPressMsg{Code: rune(name[len(name)-1]), Mod: tea.ModCtrl}
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "alt+enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter, Mod: tea.ModAlt}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "up":
		return tea.KeyPressMsg{Code: tea.KeyUp}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	}
	return tea.KeyPressMsg{Code: rune(name[0]), Text: name}
}

// take is what the person said to the conversation.
func (b *bench) take() (string, error) {
	b.t.Helper()
	select {
	case in := <-b.said:
		return in.text, in.err
	default:
		b.t.Fatal("nothing was said")
		return "", nil
	}
}

// shown is what is printed and the live region.
func (b *bench) shown() string {
	return strings.Join(b.print.lines, "\n") + "\n--\n" + b.View().Content
}

func (b *bench) shows(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(b.shown(), text) {
			b.t.Errorf("%q is not shown:\n%s", text, b.shown())
		}
	}
}

func event(e localapi.Event) turnItem { return turnItem{localapi.StreamItem{Event: &e}} }

func text(s string) turnItem { return turnItem{localapi.StreamItem{Text: s}} }

// TestInput: several lines, pastes and the ways to go on.
func TestInput(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *bench)
		want string
	}{
		"a line":      {func(b *bench) { b.typeText("hello") }, "hello"},
		"Alt-Enter":   {func(b *bench) { b.typeText("a"); b.press("alt+enter"); b.typeText("b") }, "a\nb"},
		"a backslash": {func(b *bench) { b.typeText("a\\"); b.press("enter"); b.typeText("b") }, "a\nb"},
		"a paste": {func(b *bench) {
			b.do(tea.PasteMsg{Content: "x\ny\x1b[2J\nz"})
			b.typeText("!")
		}, "x\ny[2J\nz!"},
		"a long paste":  {func(b *bench) { b.do(tea.PasteMsg{Content: strings.Repeat("line\n", 3000) + "end"}) }, strings.Repeat("line\n", 3000) + "end"},
		"wide and wide": {func(b *bench) { b.typeText("漢字🙂") }, "漢字🙂"},
	} {
		b := newBench(t, Options{})
		b.do(ready{})
		c.do(b)
		b.press("enter")
		if got, err := b.take(); got != c.want || err != nil {
			t.Errorf("%s: said %q, %v", name, got, err)
		}
		if b.input.Value() != "" {
			t.Errorf("%s: %q stays in the input", name, b.input.Value())
		}
	}
}

// TestNothingSaid: an empty message is none.
func TestNothingSaid(t *testing.T) {
	b := newBench(t, Options{})
	b.do(ready{})
	b.typeText("  ")
	b.press("enter")
	if len(b.said) != 0 {
		t.Error("it was said")
	}
}

// TestLeaving: Ctrl-C empties the input first and leaves the second time in a row; Ctrl-D leaves an empty one.
func TestLeaving(t *testing.T) {
	b := newBench(t, Options{})
	b.do(ready{})
	b.typeText("half")
	b.press("ctrl+d", "ctrl+c")
	if b.input.Value() != "" || len(b.said) != 0 {
		t.Fatalf("input %q", b.input.Value())
	}
	b.shows("Ctrl-C again, or Ctrl-D, leaves")
	b.typeText("x")
	b.press("ctrl+c")
	if len(b.said) != 0 {
		t.Fatal("it left although a key came between")
	}
	b.press("ctrl+c")
	if _, err := b.take(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	b = newBench(t, Options{})
	b.do(ready{})
	b.press("ctrl+d")
	if _, err := b.take(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestTurn: text, tools that run and what came of them, the retry that voids an attempt, and the end.
func TestTurn(t *testing.T) {
	b := newBench(t, Options{ASCII: true})
	b.do(tea.WindowSizeMsg{Width: 100, Height: 30}, turnBegan{"s"}, text("Let me `look`"))
	b.shows("Let me look", "alice  0s - Ctrl-C interrupts")
	b.do(event(localapi.Event{Type: "tool_start", CallID: "1", Tool: "read_file", Summary: "a.txt\x1b[2J"}))
	b.clock.SetTime(time.Unix(1003, 0))
	b.shows("Let me look\n", "read_file a.txt^[[2J  3s")
	b.do(event(localapi.Event{Type: "tool_end", CallID: "1", Tool: "read_file", Millis: 3100}))
	b.shows("ok read_file in 3.1s: a.txt^[[2J")
	if len(b.turn.tools) != 0 {
		t.Error("the tool still runs")
	}
	b.do(text("void"), event(localapi.Event{Type: "retry", Summary: "reset"}), text("Done."), turnEnded{reply: "Done."})
	b.shows("! the model broke off (reset); what it said is void, trying again", "Done.")
	if strings.Contains(strings.Join(b.print.lines, "\n"), "\nvoid") {
		t.Errorf("the void attempt stays:\n%s", b.shown())
	}
	if b.turn != nil || strings.Count(strings.Join(b.print.lines, "\n"), "Done.") != 1 {
		t.Errorf("after the end:\n%s", b.shown())
	}
	b.do(turnBegan{"s"}, turnEnded{reply: "Whole."})
	b.shows("Whole.")
}

// TestInterruptingATurn: the first Ctrl-C asks, gives back what was to be said next, and the second goes out as well.
func TestInterruptingATurn(t *testing.T) {
	b := newBench(t, Options{})
	b.do(ready{})
	b.typeText("go")
	b.press("enter")
	_, _ = b.take()
	b.do(turnBegan{"s"})
	b.typeText("and then")
	b.press("enter")
	b.shows("next: and then")
	b.press("ctrl+c")
	b.shows("interrupting, Ctrl-C again leaves")
	if <-b.interrupts != os.Interrupt || b.input.Value() != "and then" || len(b.queue) != 0 {
		t.Errorf("input %q, queue %q", b.input.Value(), b.queue)
	}
	b.press("ctrl+c")
	if len(b.interrupts) != 1 {
		t.Error("the second one did not arrive")
	}
}

// TestTypedMeanwhile is said once the turn is over; /quit leaves then.
func TestTypedMeanwhile(t *testing.T) {
	b := newBench(t, Options{})
	b.do(turnBegan{"s"})
	b.typeText("next")
	b.press("enter")
	b.do(turnEnded{}, ready{"s"})
	if got, _ := b.take(); got != "next" {
		t.Errorf("said %q", got)
	}
	b.do(turnBegan{"s"})
	b.typeText("/quit")
	b.press("enter")
	if len(b.interrupts) != 1 {
		t.Error("the turn was not interrupted")
	}
	b.do(turnEnded{}, ready{"s"})
	if _, err := b.take(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestSteer says something to the turn that runs, and as a message what no turn took.
func TestSteer(t *testing.T) {
	b := newBench(t, Options{})
	b.do(turnBegan{"s1"})
	b.typeText("/steer use the \x07other one")
	cmd := b.do(keyOf("enter"))
	b.answer(cmd)
	if len(b.gateway.steers) != 1 || b.gateway.steers[0] != "s1: use the other one" {
		t.Errorf("%q", b.gateway.steers)
	}
	b.shows("it is told with the next step: use the other one")
	b.gateway.accepts = false
	b.typeText("/steer late")
	b.answer(b.do(keyOf("enter")))
	b.do(turnEnded{}, ready{"s1"})
	if got, _ := b.take(); got != "late" {
		t.Errorf("said %q", got)
	}
	b.do(turnBegan{"s1"})
	b.gateway.steerErr = errors.New("no such\x1b path")
	b.typeText("/steer again")
	b.answer(b.do(keyOf("enter")))
	b.shows("! it did not arrive: no such^[ path")
	if b.input.Value() != "/steer again" {
		t.Errorf("input %q", b.input.Value())
	}
}

func ask(b *bench, q chat.Question) chan reaction {
	answer := make(chan reaction, 1)
	b.do(turnBegan{"s"}, asked{q, answer})
	return answer
}

// shownAndQuiet: the question was printed, and no key was pressed for long enough.
func shownAndQuiet(b *bench) {
	b.print.lines, b.print.flying = nil, 0
	b.do(armed{b.question.restarts})
}

// TestQuestion: the whole command is shown, and a key decides once it was.
func TestQuestion(t *testing.T) {
	long := strings.Repeat("echo 0123456789 ", 40) + "\nrm -r ."
	for key, want := range map[string]string{"o": "once", "s": "session", "a": "always", "d": "deny"} {
		b := newBench(t, Options{})
		answer := ask(b, chat.Question{Profile: "alice", Tool: "terminal", Reason: "no rule", Subject: long, Covers: "this exact command"})
		if got := strings.ReplaceAll(strings.Join(b.print.lines, "\n"), "\n    ", ""); !strings.Contains(got, "alice wants to run terminal (no rule):"+strings.ReplaceAll(long, "\n", "")) {
			t.Fatalf("not the whole command:\n%s", got)
		}
		shownAndQuiet(b)
		b.shows("[a]lways (this exact command)")
		b.press("enter", "x", key)
		select {
		case got := <-answer:
			if got != (reaction{want, true}) {
				t.Errorf("%s decided %+v", key, got)
			}
		default:
			t.Errorf("%s decided nothing", key)
		}
	}
}

// TestTypingIsNoAnswer: keys that were meant for the input stay there, and decide nothing until there was a pause after
// the question was shown.
func TestTypingIsNoAnswer(t *testing.T) {
	b := newBench(t, Options{})
	answer := ask(b, chat.Question{Subject: "rm -r ."})
	b.do(armed{b.question.restarts})
	if b.question.armed {
		t.Error("a key answers before the question is shown")
	}
	stale := b.question.restarts
	b.typeText("also")
	b.press("enter")
	b.print.lines, b.print.flying = nil, 0
	b.do(armed{stale})
	before := b.question.restarts
	b.typeText("d")
	b.do(armed{before})
	if b.question.armed || len(answer) != 0 || b.input.Value() != "alsod" || len(b.queue) != 0 {
		t.Fatalf("answered %d, input %q, queue %q", len(answer), b.input.Value(), b.queue)
	}
	shownAndQuiet(b)
	b.do(tea.PasteMsg{Content: "a"})
	b.typeText("o")
	if len(answer) != 0 {
		t.Error("a paste was followed by an answer")
	}
	shownAndQuiet(b)
	b.press("ctrl+c")
	if got := <-answer; got.ok || got.text != "" || len(b.interrupts) != 1 {
		t.Errorf("Ctrl-C decided %+v", got)
	}
	answer = ask(b, chat.Question{Subject: "x"})
	b.do(gone{answer})
	if b.question != nil {
		t.Error("a question that is gone still asks")
	}
}

// TestQuestionAboutOneCall: where an answer covers nothing else, no key says that it does.
func TestQuestionAboutOneCall(t *testing.T) {
	b := newBench(t, Options{})
	answer := ask(b, chat.Question{Subject: "sudo x"})
	shownAndQuiet(b)
	if strings.Contains(b.shown(), "lways") {
		t.Errorf("always is offered:\n%s", b.shown())
	}
	b.press("a", "s")
	if len(answer) != 0 {
		t.Error("it was answered")
	}
}

// TestInquiry: a question of the agent takes a line, an empty one as well, and none that was typed before it was read.
func TestInquiry(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *bench)
		want reaction
	}{
		"a line":    {func(b *bench) { b.typeText("blue d"); b.press("enter") }, reaction{"blue d", true}},
		"empty":     {func(b *bench) { b.press("enter") }, reaction{"", true}},
		"interrupt": {func(b *bench) { b.press("ctrl+c") }, reaction{}},
	} {
		b := newBench(t, Options{})
		answer := make(chan reaction, 1)
		b.do(turnBegan{"s"}, inquired{chat.Inquiry{Profile: "alice", Text: "Which one?", Options: []string{"red", "blue"}}, answer})
		b.shows("? alice asks: Which one?", "    2  blue")
		b.press("enter")
		if len(answer) != 0 {
			t.Fatalf("%s: answered before it could be read", name)
		}
		shownAndQuiet(b)
		b.shows("a number, or your own words")
		c.do(b)
		select {
		case got := <-answer:
			if got != c.want {
				t.Errorf("%s: %+v", name, got)
			}
		default:
			t.Errorf("%s: no answer", name)
		}
		if b.input.Value() != "" || len(b.queue) != 0 {
			t.Errorf("%s: input %q, queue %q", name, b.input.Value(), b.queue)
		}
	}
}

// TestCompletion of commands.
func TestCompletion(t *testing.T) {
	for in, want := range map[string]string{"/t": "/title ", "/re": "/re", "/res": "/resume ", "/u": "/u", "/us": "/usage", "/": "/", "/x": "/x", "hello": "hello", "/title x": "/title x", "": ""} {
		if got := complete(in); got != want {
			t.Errorf("complete(%q) = %q, want %q", in, got, want)
		}
	}
	b := newBench(t, Options{})
	b.do(ready{})
	b.typeText("/ti")
	b.shows("/title [TITLE]      show the title")
	b.press("tab")
	if b.input.Value() != "/title " {
		t.Errorf("%q", b.input.Value())
	}
}

// TestPicker: words narrow the list, arrows move in it, Enter chooses and Esc does not.
func TestPicker(t *testing.T) {
	list := []localapi.SessionInfo{{ID: "1", Title: "Cats \x1b[2Jand dogs"}, {ID: "2", Preview: "about dogs"}, {ID: "3", Source: "cron", Preview: "report"}}
	for name, c := range map[string]struct {
		do   func(b *bench)
		want string
	}{
		"the first":  {func(b *bench) { b.press("enter") }, "1"},
		"down":       {func(b *bench) { b.press("down", "down", "down", "up", "enter") }, "2"},
		"words":      {func(b *bench) { b.typeText("DOGS about"); b.press("enter") }, "2"},
		"source":     {func(b *bench) { b.typeText("cron"); b.press("enter") }, "3"},
		"none fits":  {func(b *bench) { b.typeText("zebra"); b.press("enter", "esc") }, ""},
		"Esc":        {func(b *bench) { b.press("esc") }, ""},
		"Ctrl-C":     {func(b *bench) { b.press("ctrl+c") }, ""},
		"pasted too": {func(b *bench) { b.do(tea.PasteMsg{Content: "report"}); b.press("enter") }, "3"},
	} {
		b := newBench(t, Options{})
		answer := make(chan string, 1)
		b.do(picking{list, answer})
		b.shows("3 of 3", "Cats ^[[2Jand dogs")
		c.do(b)
		select {
		case got := <-answer:
			if got != c.want || b.picker != nil {
				t.Errorf("%s: chose %q", name, got)
			}
		default:
			t.Errorf("%s: chose nothing", name)
		}
	}
}

// TestIdle shows what others say in the session while nothing happens, and nothing of what was there before.
func TestIdle(t *testing.T) {
	b := newBench(t, Options{IdleEvery: time.Nanosecond})
	rows := []localapi.TranscriptRow{{ID: 1, Role: "user", Content: "old"}, {ID: 2, Role: "assistant", Content: "old reply"}}
	b.gateway.session = localapi.SessionDetail{SessionInfo: localapi.SessionInfo{Messages: 2}, Transcript: rows}
	tick := b.answer(b.do(ready{"s"}))
	b.gateway.session.Transcript = append(rows, localapi.TranscriptRow{ID: 3, Role: "tool", Content: "x"}, localapi.TranscriptRow{ID: 4, Role: "assistant", Content: "**The build** is done.\x1b[2J"})
	b.gateway.session.Messages = 4
	b.answer(b.answer(tick))
	b.shows("meanwhile in this session:", "is done.^[[2J")
	if strings.Contains(b.shown(), "old") {
		t.Errorf("what was known is shown again:\n%s", b.shown())
	}
	late := b.lookAt(b.idle.number)()
	b.typeText("hi")
	b.press("enter")
	if b.do(late) != nil {
		t.Error("it goes on looking in a turn")
	}
}

// TestLiveRegionFits: whatever is going on, the region is lower than the screen, narrower than it, and has the cursor in it.
func TestLiveRegionFits(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {20, 6}, {9, 3}, {3, 1}} {
		b := newBench(t, Options{})
		b.do(tea.WindowSizeMsg{Width: size[0], Height: size[1]}, turnBegan{"s"}, text(strings.Repeat("- item\n", 50)))
		for i := range 10 {
			b.do(event(localapi.Event{Type: "tool_start", CallID: string(rune('a' + i)), Tool: "terminal", Summary: strings.Repeat("漢", 60)}))
		}
		b.do(text(strings.Repeat("- item\n", 50)))
		b.do(tea.PasteMsg{Content: strings.Repeat("pasted\n", 30)})
		check := func() {
			v := b.View()
			lines := strings.Split(v.Content, "\n")
			if len(lines) > max(1, size[1]*2/3) || b.room() < 0 && size[1] > 3 {
				t.Errorf("%v: %d lines", size, len(lines))
			}
			for _, line := range lines {
				if n := len([]rune(line)); n > 0 && tea.NewView(line).Content != "" && visibleWidth(line) > max(1, size[0]-1) {
					t.Errorf("%v: %q is too wide", size, line)
				}
			}
			if v.Cursor != nil && (v.Cursor.Y < 0 || v.Cursor.Y >= len(lines)) {
				t.Errorf("%v: the cursor is in line %d of %d", size, v.Cursor.Y, len(lines))
			}
		}
		check()
		b.do(asked{chat.Question{Subject: "x", Covers: "this tool"}, make(chan reaction, 1)})
		check()
		b.do(picking{[]localapi.SessionInfo{{ID: "1"}, {ID: "2"}}, make(chan string, 1)})
		check()
	}
}
