package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/spinner"
	tea "charm.land/bubbletea/v2"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/chat/markdown"
	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
	"hermes.dev/hermes/runtime/localapi"
)

// turn is what is shown of a turn that runs.
type turn struct {
	began       time.Time
	session     string
	stream      markdown.Stream
	said        bool // something since the last tool call or retry
	tools       []tool
	interrupted int

	// The block being written, laid out: it is asked for with every key and tick.
	tail      []string
	tailOf    string
	tailWidth int
}

// tool is a call that runs.
type tool struct {
	id, text string
	began    time.Time
}

func (m *model) turnMessage(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case turnBegan:
		m.turn = &turn{began: m.clock.Now(), session: msg.session}
		m.session = msg.session
		return m.spin.Tick
	case turnItem:
		if m.turn != nil {
			m.item(msg.item)
		}
	case turnEnded:
		m.endTurn(msg)
	case spinner.TickMsg:
		if m.turn == nil {
			return nil // the last tick of a turn that is over
		}
		var cmd tea.Cmd
		m.spin, cmd = m.spin.Update(msg)
		return cmd
	}
	return nil
}

func (m *model) item(i localapi.StreamItem) {
	t := m.turn
	if i.Event == nil {
		if i.Text != "" {
			t.said = true
			m.block(t.stream.Add(i.Text))
		}
		return
	}
	e := *i.Event
	switch e.Type {
	case "tool_start":
		m.block(t.stream.End())
		t.said = false
		text := strings.TrimPrefix(chat.EventNote(e, false), "• ")
		t.tools = append(t.tools, tool{id: e.CallID, text: text, began: m.clock.Now()})
		return
	case "tool_end":
		m.toolEnded(e)
		return
	case "retry":
		t.stream.End() // void
	}
	if text := chat.EventNote(e, t.said); text != "" {
		m.note(text)
	}
	if e.Type == "retry" {
		t.said = false
	}
}

// toolEnded replaces the line of a running tool by what came of it.
func (m *model) toolEnded(e localapi.Event) {
	t := m.turn
	what := ""
	if i := slices.IndexFunc(t.tools, func(one tool) bool { return one.id == e.CallID }); i >= 0 {
		if _, summary, ok := strings.Cut(t.tools[i].text, " "); ok {
			what = summary
		}
		t.tools = slices.Delete(t.tools, i, i+1)
	}
	line := chat.EventNote(e, false)
	if what != "" && !e.IsError {
		line += ": " + what
	} else if what != "" {
		m.note("• " + safetext.Visible(e.Tool) + " " + what)
	}
	m.note(line)
}

func (m *model) endTurn(msg turnEnded) {
	t := m.turn
	if t == nil {
		return
	}
	m.block(t.stream.End())
	if msg.err == nil && !t.said && msg.reply != "" {
		m.block(msg.reply)
	}
	m.turn, m.question = nil, nil
}

// block prints a settled part of the reply.
func (m *model) block(source string) {
	if source != "" {
		m.print.add(reply, markdown.Lines(source, m.columns(), m.look.theme)...)
	}
}

// writing is the block that is being written, laid out.
func (m *model) writing() []string {
	t := m.turn
	if source := t.stream.Tail(); source != t.tailOf || t.tailWidth != m.columns() {
		t.tail, t.tailOf, t.tailWidth = markdown.Lines(source, m.columns(), m.look.theme), source, m.columns()
	}
	return t.tail
}

// progress is the lines of running tools and of the turn.
func (m *model) progress() []string {
	t, now := m.turn, m.clock.Now()
	var out []string
	for _, one := range t.tools {
		out = append(out, m.look.own(m.spin.View()+" "+one.text+"  ")+m.look.style(dim, elapsed(now.Sub(one.began))))
	}
	state := "Ctrl-C interrupts"
	switch {
	case t.interrupted > 0:
		state = "interrupting, Ctrl-C again leaves"
	case m.question != nil:
		state = "waiting for you"
	}
	line := fmt.Sprintf("%s %s  %s · %s", m.spin.View(), m.profile, elapsed(now.Sub(t.began)), state)
	return append(out, m.look.style(dim, m.look.own(line)))
}

// elapsed is a time in whole seconds.
func elapsed(d time.Duration) string {
	return max(d, 0).Truncate(time.Second).String()
}
