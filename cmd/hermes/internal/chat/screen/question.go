package screen

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// quiet is how long no key may be pressed before one answers a question: a person who is typing has not read it.
const quiet = 700 * time.Millisecond

// question waits for a key that decides, or for a line.
type question struct {
	covers string
	// open takes a line; options is how many have a number.
	open    bool
	options int
	answer  chan reaction
	// armed says that keys answer; restarts counts what has put that off.
	armed    bool
	restarts int
}

// armed: no key was pressed since the restart of that number.
type armed struct{ restart int }

func (m *model) questionMessage(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case asked:
		m.question = &question{covers: msg.question.Covers, answer: msg.answer}
		q := msg.question
		m.showQuestion(fmt.Sprintf("? %s wants to run %s (%s):", q.Profile, q.Tool, q.Reason), q.Subject)
		return m.question.rest()
	case inquired:
		q := msg.inquiry
		m.question = &question{open: true, options: len(q.Options), answer: msg.answer}
		var options []string
		for i, option := range q.Options {
			options = append(options, fmt.Sprintf("%d  %s", i+1, option))
		}
		m.showQuestion(fmt.Sprintf("? %s asks: %s", q.Profile, q.Text), options...)
		return m.question.rest()
	case gone:
		if m.question != nil && m.question.answer == msg.answer {
			m.question = nil
		}
	case armed:
		q := m.question
		if q == nil || q.restarts != msg.restart {
			return nil
		}
		if !m.print.empty() {
			return q.rest() // it has not been shown yet
		}
		q.armed = true
	}
	return nil
}

// rest begins the time without keys anew.
func (q *question) rest() tea.Cmd {
	q.restarts++
	n := q.restarts
	return tea.Tick(quiet, func(time.Time) tea.Msg { return armed{n} })
}

// showQuestion prints the whole of what is asked, however long: what scrolled past can be read above.
func (m *model) showQuestion(head string, parts ...string) {
	m.block(m.turnText())
	var lines []string
	for _, line := range indented(head, "", m.columns()) {
		lines = append(lines, m.look.style(strong, line))
	}
	for _, part := range parts {
		lines = append(lines, indented(part, "    ", m.columns())...)
	}
	m.print.add(person, lines...)
	m.print.last = note
}

// turnText ends the block that was being written.
func (m *model) turnText() string {
	if m.turn == nil {
		return ""
	}
	return m.turn.stream.End()
}

// decision is what a key decides; those that cover more than one call count only where something is covered.
func (q *question) decision(key string) (string, bool) {
	d, ok := map[string]string{"o": "once", "d": "deny", "s": "session", "a": "always"}[key]
	return d, ok && (q.covers != "" || d == "once" || d == "deny")
}

// questionKey handles a key while a question waits. Keys before it can have been read are text, as they were meant.
func (m *model) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	q, enter := m.question, msg.String() == "enter"
	switch {
	case !q.armed && enter:
		return q.rest() // what was typed stays in the input
	case !q.armed:
		return tea.Batch(m.editKey(msg), q.rest())
	case q.open && enter && !strings.HasSuffix(m.input.Value(), "\\"):
		text := m.input.Value()
		m.setInput("")
		m.question = nil
		m.note("  → " + safetext.Brief(text, 200))
		q.answer <- reaction{text, true}
	case q.open:
		return m.editKey(msg)
	default:
		if decision, ok := q.decision(msg.String()); ok {
			m.question = nil
			m.note("  → " + decision)
			q.answer <- reaction{decision, true}
		}
	}
	return nil
}

// choices is the line that asks.
func (m *model) choices() []string {
	q := m.question
	line := "  [o]nce  [d]eny"
	switch {
	case !q.armed:
		return []string{m.look.style(dim, m.look.own("  … stop typing to answer"))}
	case q.open && q.options > 0:
		line = "  a number, or your own words (empty: none):"
	case q.open:
		line = "  your answer (empty: none):"
	case q.covers != "":
		line = "  [o]nce  [s]ession  [a]lways (" + q.covers + ")  [d]eny"
	}
	var out []string
	for _, piece := range indented(line, "", m.columns()) {
		out = append(out, m.look.style(bold, piece))
	}
	return out
}
