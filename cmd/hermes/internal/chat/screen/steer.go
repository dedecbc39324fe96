package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// steered is what came of saying something to the turn that runs.
type steered struct {
	text     string
	accepted bool
	err      error
}

// steerNow says it without waiting for the conversation, which waits for the turn.
func (m *model) steerNow(text string) tea.Cmd {
	text = strings.TrimSpace(strings.TrimPrefix(text, "/steer"))
	if m.turn == nil || text == "" {
		m.note("! no turn is running that could be told something")
		return nil
	}
	session := m.turn.session
	return func() tea.Msg {
		ok, err := m.api.steer(m.ctx, session, text)
		return steered{text, ok, err}
	}
}

// steered says so; what no turn took is said as a message next.
func (m *model) steered(s steered) {
	switch {
	case s.err != nil:
		m.note("! it did not arrive: " + s.err.Error())
		m.setInput("/steer " + s.text)
	case s.accepted:
		m.note("• it is told with the next step: " + s.text)
	case m.waiting:
		m.say(s.text)
	default:
		m.queue = append(m.queue, s.text)
	}
}
