package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// View implements tea.Model: the live region, whose last lines are the input.
func (m *model) View() tea.View {
	below, cursor := m.bottom()
	room := max(0, m.maxLive()-len(below))
	lines := append(m.above(room), below...)
	if cut := len(lines) - m.maxLive(); cut > 0 {
		lines = lines[cut:]
	}
	for i := range lines {
		// What is too wide would be broken by a terminal that becomes narrower, and drawn over.
		lines[i] = strings.TrimRight(ansi.Truncate(lines[i], m.columns(), ""), " ")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	if cursor != nil {
		cursor.Y = max(0, cursor.Y+len(lines)-len(below))
		cursor.X = min(cursor.X, m.columns())
		v.Cursor = cursor
	}
	return v
}

// above is what may still change, at most room lines of it: what waits to be printed, and the end of what is being written.
func (m *model) above(room int) []string {
	out := append([]string(nil), m.print.lines...)
	if m.turn != nil {
		if tail := m.writing(); len(tail) > 0 {
			if m.print.last != nothing {
				out = append(out, "")
			}
			out = append(out, tail...)
		}
	}
	if m.ended {
		return out[:0]
	}
	if len(out) > 0 {
		out = append(out, "")
	}
	return out[max(0, len(out)-room):]
}

// bottom is the rest, with the place of the cursor in it.
func (m *model) bottom() ([]string, *tea.Cursor) {
	if m.ended {
		return nil, nil
	}
	var out []string
	if m.turn != nil {
		out = append(out, m.progress()...)
	}
	for _, text := range m.queue {
		out = append(out, m.look.style(dim, m.look.own("  next: "+safetext.Brief(text, 200))))
	}
	if m.picker != nil {
		cursor := m.picker.search.Cursor()
		line := len(out)
		out = append(out, m.picker.search.View())
		out = append(out, m.choiceLines(min(10, m.maxLive()-line-2))...)
		out = append(out, m.look.style(dim, m.look.own(fmt.Sprintf("  %d of %d · Enter chooses, Esc goes back", len(m.picker.found), len(m.picker.all)))))
		if cursor != nil {
			cursor.Y += line
		}
		return out, cursor
	}
	if m.question != nil {
		out = append(out, m.choices()...)
		if m.question.armed && !m.question.open {
			return out, nil
		}
	}
	if m.quitting {
		return out, nil
	}
	top := len(out)
	out = append(out, strings.Split(m.input.View(), "\n")...)
	cursor := m.input.Cursor()
	if cursor != nil {
		cursor.Y += top
	}
	out = append(out, m.suggestions()...)
	if m.leaving && m.input.Value() == "" {
		out = append(out, m.look.style(dim, "  Ctrl-C again, or Ctrl-D, leaves"))
	}
	return out, cursor
}
