package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"hermes.dev/hermes/cmd/hermes/internal/chat/markdown"
	"hermes.dev/hermes/cmd/hermes/internal/chat/safetext"
)

// look is how things look on this terminal.
type look struct {
	theme  markdown.Theme
	ascii  *strings.Replacer // nil where all characters can be shown
	prompt string
	color  bool
}

func newLook(color, ascii bool) look {
	l := look{theme: markdown.Plain(ascii), prompt: "› ", color: color}
	if color {
		l.theme = markdown.Colors(ascii)
	}
	if ascii {
		l.ascii = strings.NewReplacer("•", "*", "✓", "ok", "✗", "x", "›", ">", "…", "...", "·", "-", "→", "->")
		l.prompt = "> "
	}
	return l
}

// Looks of parts, as parameters of SGR sequences.
const (
	dim     = "2"
	bold    = "1"
	warning = "33"
	strong  = "1;33"
)

func (l look) style(sgr, text string) string {
	if !l.color && sgr != bold || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[m"
}

// own is text of ours, or with harmless text in it, in characters that this terminal has.
func (l look) own(text string) string {
	text = strings.ReplaceAll(safetext.Visible(text), "\t", "    ")
	if l.ascii != nil {
		text = l.ascii.Replace(text)
	}
	return text
}

// indented breaks text anywhere, so that all of it is there as it is, and moves it in.
func indented(text, by string, width int) []string {
	text = strings.ReplaceAll(safetext.Visible(text), "\t", "    ")
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for piece := range strings.SplitSeq(ansi.Hardwrap(line, max(1, width-len(by)), true), "\n") {
			out = append(out, by+piece)
		}
	}
	return out
}

// note prints a line about what happens.
func (m *model) note(line string) {
	sgr := dim
	if strings.HasPrefix(line, "! ") {
		sgr = warning
	}
	var lines []string
	for _, piece := range markdown.Wrap(m.look.own(line), m.columns()) {
		lines = append(lines, m.look.style(sgr, piece))
	}
	m.print.add(note, lines...)
}

// echo prints what the person said.
func (m *model) echo(text string) {
	lines := indented(text, "  ", m.columns())
	lines[0] = m.look.prompt + strings.TrimPrefix(lines[0], "  ")
	for i := range lines {
		lines[i] = m.look.style(bold, lines[i])
	}
	m.print.add(person, lines...)
}
