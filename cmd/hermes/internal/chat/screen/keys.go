package screen

import (
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key decides what a key does.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	pressed := msg.String()
	if pressed != "ctrl+c" {
		m.leaving = false
	}
	switch pressed {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	}
	switch {
	case m.ended || m.quitting:
		return nil
	case m.picker != nil:
		m.pickerKey(msg)
		return nil
	case m.question != nil:
		return m.questionKey(msg)
	}
	return m.editKey(msg)
}

// editKey is a key for the input.
func (m *model) editKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "enter":
		return m.enter()
	case "tab":
		m.setInput(complete(m.input.Value()))
		return nil
	case "ctrl+d":
		if m.input.Value() == "" {
			if m.waiting {
				m.leave()
			}
			return nil
		}
	case "up", "ctrl+p":
		if m.input.Line() == 0 && m.input.LineInfo().RowOffset == 0 {
			m.setInput(m.history.older(m.input.Value()))
			return nil
		}
	case "down", "ctrl+n":
		info := m.input.LineInfo()
		if m.input.Line() == strings.Count(m.input.Value(), "\n") && info.RowOffset >= info.Height-1 {
			m.setInput(m.history.newer(m.input.Value()))
			return nil
		}
	}
	return m.edit(msg)
}

// interrupt is Ctrl-C. It interrupts the turn, closes what is open, empties the input, and leaves the second time.
func (m *model) interrupt() tea.Cmd {
	switch {
	case m.picker != nil:
		m.closePicker("")
	case !m.waiting:
		if q := m.question; q != nil {
			m.question = nil
			defer func() { q.answer <- reaction{} }() // no decision: the turn ends, and its question with it
		}
		m.setInput(strings.TrimSpace(strings.Join(append(m.queue, m.input.Value()), "\n")))
		m.queue = nil
		m.interruptTurn()
	case m.input.Value() != "":
		m.setInput("")
		m.leaving = true
	case m.leaving:
		m.leave()
	default:
		m.leaving = true
	}
	return nil
}

// interruptTurn asks the conversation to; it counts how often.
func (m *model) interruptTurn() {
	if m.turn != nil {
		m.turn.interrupted++
	}
	select {
	case m.interrupts <- os.Interrupt:
	default: // one is on its way
	}
}
