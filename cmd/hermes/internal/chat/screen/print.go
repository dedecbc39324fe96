package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// kind is what lines are, so that different things stand apart.
type kind int

const (
	nothing kind = iota
	note
	reply
	person
)

// printer prints what is finished, in order and once. One piece is on its way at a time, because commands of a program
// run side by side, and none is higher than the room above the live region: the program would push that into the
// scrollback.
type printer struct {
	lines  []string
	flying int // lines at the front that are on their way
	last   kind
	ready  bool // there is a live region to print above
}

// add takes lines of a kind; those of another kind than the last, and blocks of a reply, stand apart.
func (p *printer) add(k kind, lines ...string) {
	if len(lines) == 0 {
		return
	}
	if p.last != nothing && (k != note || p.last != note) {
		p.lines = append(p.lines, "")
	}
	p.last = k
	p.lines = append(p.lines, lines...)
}

// next prints the next piece, nil when there is none or one is on its way.
func (p *printer) next(width, room int) tea.Cmd {
	if !p.ready || p.flying > 0 || len(p.lines) == 0 {
		return nil
	}
	p.flying = min(len(p.lines), max(1, room))
	piece := make([]string, p.flying)
	for i, line := range p.lines[:p.flying] {
		piece[i] = ansi.Truncate(line, max(1, width-1), "")
	}
	text := strings.Join(piece, "\n")
	if text == "" {
		text = " " // nothing at all would not be printed
	}
	return tea.Println(text)
}

// done takes away what was printed.
func (p *printer) done() {
	p.lines = p.lines[p.flying:]
	p.flying = 0
	if len(p.lines) == 0 {
		p.lines = nil
	}
}

func (p *printer) empty() bool { return len(p.lines) == 0 }

// maxLive is how high the live region may be; the rest of the screen is room to print in.
func (m *model) maxLive() int { return max(1, m.height*2/3) }

// room is how many lines can be printed at once.
func (m *model) room() int { return m.height - m.maxLive() - 1 }
