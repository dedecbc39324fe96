package safetext

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible makes text from outside harmless for a terminal: line ends and tabs stay, every other control character
// and every character that reorders or hides text is written as its code. A command that a person approves is the
// command that runs.
func Visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD") // a lone byte 0x9b begins a command on some terminals
	if strings.IndexFunc(s, Hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !Hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteString("^" + string('@'+r))
		case r == 0x7f:
			b.WriteString("^?")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// Hidden reports whether a character does something to a terminal other than to show itself.
func Hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\ufeff' || r == '\u2028' || r == '\u2029'
}

// Brief is Visible text in one line of at most n characters.
func Brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > n {
		s = string(runes[:n-1]) + "…"
	}
	return Visible(s)
}
