package screen

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// picker lets a person choose a session by typing parts of its name.
type picker struct {
	all    []choice
	found  []choice
	at     int
	search textinput.Model
	answer chan string
}

// choice is a session as it is shown, and in the form in which it is searched.
type choice struct{ id, line, words string }

func newPicker(p picking, l look) *picker {
	out := &picker{answer: p.answer, search: textinput.New()}
	out.search.Prompt = l.own("go on with › ")
	out.search.SetVirtualCursor(false)
	styles := out.search.Styles()
	styles.Focused, styles.Blurred = textinput.StyleState{}, textinput.StyleState{}
	out.search.SetStyles(styles)
	out.search.Focus()
	for _, s := range p.sessions {
		name, at := chat.SessionName(s)
		if name == "" {
			name = s.ID
		}
		out.all = append(out.all, choice{
			id:    s.ID,
			line:  fmt.Sprintf("%s  %s", at.Local().Format("2006-01-02 15:04"), safetext.Brief(name, 200)),
			words: strings.ToLower(strings.Join([]string{s.ID, s.Title, s.Preview, s.Source}, " ")),
		})
	}
	out.filter()
	return out
}

// filter keeps the sessions that have all the words.
func (p *picker) filter() {
	p.found, p.at = nil, 0
	for _, c := range p.all {
		has := true
		for _, word := range strings.Fields(strings.ToLower(p.search.Value())) {
			has = has && strings.Contains(c.words, word)
		}
		if has {
			p.found = append(p.found, c)
		}
	}
}

func (p *picker) edit(msg tea.Msg) {
	before := p.search.Value()
	p.search, _ = p.search.Update(msg)
	if p.search.Value() != before {
		p.filter()
	}
}

func (m *model) pickerKey(msg tea.KeyPressMsg) {
	p := m.picker
	switch msg.String() {
	case "esc":
		m.closePicker("")
	case "enter":
		if p.at < len(p.found) {
			m.closePicker(p.found[p.at].id)
		}
	case "up", "ctrl+p":
		p.at = max(0, p.at-1)
	case "down", "ctrl+n", "tab":
		p.at = max(0, min(len(p.found)-1, p.at+1))
	case "pgup":
		p.at = max(0, p.at-10)
	case "pgdown":
		p.at = max(0, min(len(p.found)-1, p.at+10))
	default:
		p.edit(msg)
	}
}

func (m *model) closePicker(id string) {
	m.picker.answer <- id
	m.picker = nil
}

// choiceLines shows the choices around the one that is marked, and where the rest is.
func (m *model) choiceLines(height int) []string {
	p := m.picker
	if len(p.found) == 0 {
		return []string{m.look.style(dim, "  no session has these words")}
	}
	height = max(1, height)
	first := max(0, min(p.at-height/2, len(p.found)-height))
	var out []string
	for i := first; i < min(first+height, len(p.found)); i++ {
		line := "  " + p.found[i].line
		if i == p.at {
			line = m.look.prompt + p.found[i].line
		}
		line = ansi.Truncate(m.look.own(line), m.columns(), "")
		if i == p.at {
			line = m.look.style(bold, line)
		}
		out = append(out, line)
	}
	return out
}
