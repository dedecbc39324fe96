package screen

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// maxInputLines bounds what can be typed or pasted, in lines.
const maxInputLines = 20000

func newInput(l look) textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return l.prompt
		}
		return "  "
	})
	in.EndOfBufferCharacter = ' '
	in.DynamicHeight, in.MinHeight, in.MaxHeight, in.MaxContentHeight = true, 1, 8, maxInputLines
	in.CharLimit = 0
	in.SetVirtualCursor(false)
	plain := textarea.StyleState{}
	for _, s := range []*lipgloss.Style{
		&plain.Base, &plain.Text, &plain.LineNumber, &plain.CursorLineNumber, &plain.CursorLine, &plain.EndOfBuffer, &plain.Placeholder, &plain.Prompt,
	} {
		*s = lipgloss.NewStyle()
	}
	styles := in.Styles()
	styles.Focused, styles.Blurred = plain, plain
	styles.Cursor.Blink = false
	styles.Cursor.Color = nil
	in.SetStyles(styles)
	in.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	in.KeyMap.Paste.SetEnabled(false) // the terminal pastes; the program would start another one to ask for the clipboard
	in.SetHeight(1)
	return in
}

// edit gives a message to the input; pastes come this way.
func (m *model) edit(msg tea.Msg) tea.Cmd {
	if m.picker != nil {
		m.picker.edit(msg)
		return nil
	}
	if _, pasted := msg.(tea.PasteMsg); pasted && m.question != nil {
		m.question.armed = false
		msg, cmd := msg, m.question.rest()
		m.input, _ = m.input.Update(msg)
		return cmd
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	return cmd
}

func (m *model) setInput(text string) {
	m.input.SetValue(text)
	m.input.MoveToEnd()
}

// enter sends what was typed, or goes on in the next line.
func (m *model) enter() tea.Cmd {
	text := m.input.Value()
	if strings.HasSuffix(text, "\\") && m.atEnd() {
		m.setInput(strings.TrimSuffix(text, "\\") + "\n")
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.history.add(text)
	m.setInput("")
	switch {
	case m.waiting:
		m.say(text)
	case isSteer(text):
		return m.steerNow(text)
	case isQuit(text):
		m.quitting = true
		m.queue = nil
		m.interruptTurn()
	default:
		m.queue = append(m.queue, text)
	}
	return nil
}

// atEnd reports whether the cursor stands behind everything.
func (m *model) atEnd() bool {
	lines := strings.Split(m.input.Value(), "\n")
	return m.input.Line() == len(lines)-1 && m.input.Column() == len([]rune(lines[len(lines)-1]))
}

func isQuit(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "/quit", "/exit", "quit", "exit":
		return true
	}
	return false
}

func isSteer(text string) bool { return strings.HasPrefix(text, "/steer ") }
