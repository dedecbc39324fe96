package screen

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
)

// quiet is how long no key may be pressed before one answers a question: a person who is typing has not read it.
const quiet = 700 * time.Millisecond

// question is a call that waits for a decision.
type question struct {
	chat.Question
	answer chan string
	// armed says that keys answer; restarts counts what has put that off.
	armed    bool
	restarts int
}

// armed: no key was pressed since the restart of that number.
type armed struct{ restart int }

func (m *model) questionMessage(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case asked:
		m.question = &question{Question: msg.question, answer: msg.answer}
		m.showQuestion()
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

// showQuestion prints the whole of what would run, however long: what scrolled past can be read above.
func (m *model) showQuestion() {
	m.block(m.turnText())
	head := fmt.Sprintf("? %s wants to run %s (%s):", m.question.Profile, m.question.Tool, m.question.Reason)
	lines := []string{}
	for _, line := range indented(head, "", m.columns()) {
		lines = append(lines, m.look.style(strong, line))
	}
	m.print.add(person, append(lines, indented(m.question.Subject, "    ", m.columns())...)...)
	m.print.last = note
}

// turnText ends the block that was being written.
func (m *model) turnText() string {
	if m.turn == nil {
		return ""
	}
	return m.turn.stream.End()
}

// answerKeys are the keys that decide.
var answerKeys = map[string]string{"o": "once", "s": "session", "a": "always", "d": "deny"}

// questionKey handles a key while a question waits. Keys before it can have been read are text, as they were meant.
func (m *model) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	q := m.question
	if !q.armed {
		if msg.String() == "enter" {
			return q.rest() // what was typed stays in the input
		}
		return tea.Batch(m.editKey(msg), q.rest())
	}
	if decision, ok := answerKeys[msg.String()]; ok {
		m.question = nil
		m.note("  → " + decision)
		q.answer <- decision
	}
	return nil
}

// choices is the line that asks.
func (m *model) choices() []string {
	if !m.question.armed {
		return []string{m.look.style(dim, m.look.own("  … stop typing to answer"))}
	}
	line := "  [o]nce  [s]ession  [a]lways (" + m.question.Covers + ", until a restart)  [d]eny"
	var out []string
	for _, piece := range indented(line, "", m.columns()) {
		out = append(out, m.look.style(bold, piece))
	}
	return out
}
