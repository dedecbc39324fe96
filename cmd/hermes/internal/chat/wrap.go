package chat

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// minWrap is the narrowest terminal in which breaking between words helps.
const minWrap = 20

// wrapper breaks streamed text between words, so that none is cut in two where the terminal ends. A word is held back
// until it is whole. Fenced code stays as it is: a break would be copied along.
type wrapper struct {
	width  int
	column int
	gap    string          // spaces before the word
	word   strings.Builder // not shown yet
	fenced bool
	line   strings.Builder // the beginning of the current line, enough to know a fence
}

// newWrapper returns nil where nothing can be wrapped.
func newWrapper(width int) *wrapper {
	if width < minWrap {
		return nil
	}
	return &wrapper{width: width}
}

// add takes a piece of text and returns what can be shown by now.
func (w *wrapper) add(text string) string {
	var out strings.Builder
	for _, r := range text {
		switch r {
		case '\n':
			out.WriteString(w.flush())
			out.WriteRune(r)
			if strings.HasPrefix(strings.TrimSpace(w.line.String()), "```") {
				w.fenced = !w.fenced
			}
			w.column, w.gap = 0, ""
			w.line.Reset()
		case ' ', '\t':
			if w.word.Len() > 0 {
				out.WriteString(w.emit())
			}
			w.gap += string(r)
			w.start(r)
		default:
			w.word.WriteRune(r)
			w.start(r)
			if runewidth.RuneWidth(r) > 1 {
				out.WriteString(w.emit()) // scripts without spaces break anywhere
			}
		}
	}
	return out.String()
}

// start keeps the beginning of a line.
func (w *wrapper) start(r rune) {
	if w.line.Len() < 16 {
		w.line.WriteRune(r)
	}
}

// flush returns what was held back.
func (w *wrapper) flush() string {
	if w.word.Len() == 0 && w.gap == "" {
		return ""
	}
	return w.emit()
}

// emit returns the word with the gap before it, or on a line of its own.
func (w *wrapper) emit() string {
	word, gap := w.word.String(), w.gap
	w.word.Reset()
	w.gap = ""
	wide, space := runewidth.StringWidth(word), len(gap)
	if w.column > 0 && word != "" && !w.fenced && w.column+space+wide > w.width {
		w.column = wide
		return "\n" + word
	}
	w.column += space + wide
	return gap + word
}
