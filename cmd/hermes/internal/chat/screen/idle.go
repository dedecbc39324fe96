package screen

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"hermes.dev/hermes/runtime/localapi"
)

// idle looks at the session while nothing happens, for what others say in it: a schedule, another window, a tool that
// ended in the background.
type idle struct {
	every time.Duration
	// number tells the watch from those before it; known is how many messages it began with, -1 before that is known.
	number int
	known  int64
	last   int64 // id of the newest message that was seen
}

type (
	// idleTick: it is time to look.
	idleTick struct{ number int }
	// looked is what was found; rows is nil when nothing is new.
	looked struct {
		number   int
		messages int64
		last     int64
		rows     []localapi.TranscriptRow
		err      error
	}
)

func (i *idle) stop() { i.number++ }

// watch begins to look at the session in use.
func (m *model) watch() tea.Cmd {
	m.idle.stop()
	m.idle.known, m.idle.last = -1, 0
	if m.session == "" {
		return nil
	}
	return m.lookAt(m.idle.number)
}

func (m *model) idleMessage(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case idleTick:
		if msg.number == m.idle.number {
			return m.lookAt(msg.number)
		}
	case looked:
		if msg.number != m.idle.number {
			return nil
		}
		if msg.err == nil {
			m.idle.known, m.idle.last = msg.messages, msg.last
			m.showRows(msg.rows)
		}
		return tea.Tick(m.idle.every, func(time.Time) tea.Msg { return idleTick{msg.number} })
	}
	return nil
}

// lookAt asks for the count of messages, and for the messages only when it has changed.
func (m *model) lookAt(number int) tea.Cmd {
	session, known, last := m.session, m.idle.known, m.idle.last
	return func() tea.Msg {
		head, err := m.api.head(m.ctx, session)
		if err != nil || head.Messages == known {
			return looked{number: number, messages: known, last: last, err: err}
		}
		s, err := m.api.whole(m.ctx, session)
		if err != nil {
			return looked{number: number, err: err}
		}
		out := looked{number: number, messages: head.Messages, last: last}
		for _, row := range s.Transcript {
			out.last = max(out.last, row.ID)
			if known >= 0 && row.ID > last && !row.Summary {
				out.rows = append(out.rows, row)
			}
		}
		return out
	}
}

// showRows prints what others said meanwhile.
func (m *model) showRows(rows []localapi.TranscriptRow) {
	said := false
	for _, row := range rows {
		text := strings.TrimSpace(row.Content)
		if text == "" || row.Role != "user" && row.Role != "assistant" {
			continue
		}
		if !said {
			m.note("• meanwhile in this session:")
			said = true
		}
		if row.Role == "user" {
			m.print.add(person, indented(text, "  ", m.columns())...)
		} else {
			m.block(text)
		}
	}
}
