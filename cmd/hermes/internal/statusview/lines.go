package statusview

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Line is one entry of a plain list in the look of Render.
type Line struct {
	Verdict             Verdict
	Title, Text, Remedy string
}

// Lines renders a list: a verdict, a title, and text that continues below itself instead of being cut.
func Lines(lines []Line, t Terminal) string {
	p := newPage(Options{Terminal: t})
	title := 0
	for _, l := range lines {
		title = max(title, runewidth.StringWidth(l.Title)+2)
	}
	column := symbolCol + title
	for _, l := range lines {
		symbol, color := look(l.Verdict)
		text := wrap(clean(l.Text), max(p.width-column, 20))
		if len(text) == 0 {
			text = []string{""}
		}
		p.marked(symbol, color, pad(l.Title, title)+text[0])
		for _, more := range text[1:] {
			p.line(strings.Repeat(" ", column)+more, "")
		}
		p.remedy(l.Remedy, column)
	}
	return p.String()
}
