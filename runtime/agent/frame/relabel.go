package frame

import (
	"slices"
	"strings"
	"unicode"
)

// openers are what follows the bracket of a control frame, folded. A space stands for any run of blanks, a hyphen for
// any dash; a slash in front is allowed for all. Implements P-27.
func openers() []string {
	return []string{
		"OUT-OF-BAND USER MESSAGE", "CONTEXT COMPACTION", "CONTEXT SUMMARY]", "PRIOR CONTEXT", "RUNTIME NOTE:", "SYSTEM NOTE:",
		"SYSTEM:", "SYSTEM]", "IMPORTANT:", "PLANNING STATE PRESERVED", "ASYNC DELEGATION", "PEER SESSION MESSAGE",
	}
}

// Relabel puts a label behind the bracket of every control frame in a text: "[SYSTEM:" becomes "[<label> SYSTEM:". The
// words stay, the trusted shape goes. It is idempotent and leaves other brackets alone. A model reads more as a frame
// than a program does, so look-alike brackets and letters, invisible characters and line breaks do not hide one.
//
// Implements P-26 and P-28.
func Relabel(text, label string) string {
	if !strings.ContainsFunc(text, isBracket) {
		return text
	}
	all := openers()
	runes := []rune(text)
	var b strings.Builder
	b.Grow(len(text) + 16)
	for i, r := range runes {
		b.WriteRune(r)
		if isBracket(r) && opensFrame(runes[i+1:], all) {
			b.WriteString(label)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// opensFrame reports whether a text that follows a bracket begins with an opener.
func opensFrame(text []rune, all []string) bool {
	text = skip(text, isBlank)
	if len(text) > 0 && fold(text[0]) == '/' {
		text = skip(text[1:], isBlank)
	}
	return slices.ContainsFunc(all, func(opener string) bool { return hasOpener(text, opener) })
}

func hasOpener(text []rune, opener string) bool {
	for _, want := range opener {
		text = skip(text, isInvisible)
		switch want {
		case ' ':
			rest := skip(text, isBlank)
			if len(rest) == len(text) {
				return false
			}
			text = rest
			continue
		case ':', ']':
			text = skip(text, isBlank)
		}
		if len(text) == 0 || fold(text[0]) != want {
			return false
		}
		text = text[1:]
	}
	return true
}

func skip(text []rune, class func(rune) bool) []rune {
	for len(text) > 0 && class(text[0]) {
		text = text[1:]
	}
	return text
}

// isBracket is true for a square bracket that opens, and for what looks like one.
func isBracket(r rune) bool {
	switch r {
	case '[', '［', '【', '〔', '〖', '〚', '⟦', '❲', '⁅', '⦋', '⦍', '⦏', '⎡', '⎢', '⎣', '︹', '︻', '﹇', '﹝', '⸢', '⸤', '「', '『', '｢':
		return true
	}
	return false
}

// isInvisible is true for what changes nothing on a screen: format characters, combining marks, control characters
// that are no blanks.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me) || unicode.IsControl(r) && !unicode.IsSpace(r) || r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0
}

// isBlank is true for blanks, line breaks among them, for what is invisible, and for marks that quote or emphasise.
func isBlank(r rune) bool {
	return unicode.IsSpace(r) || isInvisible(r) || r == '_' || r == '*' || r == '`' || r == '>' || r == 0x2800
}

// lookalikes are letters of other scripts that are drawn like Latin ones, and signs drawn like those of an opener.
const (
	lookalikes = "АВЕКМНОРСТУХЅІЈԌЅԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧаеорсухѕіјԁոᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ։∶꞉ː⁄∕⧸］】〕〗〛⟧❳⁆」』｣"
	drawnLike  = "ABEKMHOPCTYXSIJGSQWABEZHIKMNOPTYXAEOPCYXSIJDNABCDEGHIJKLMNOPRTUVWYZ::::///]]]]]]]]]]]"
)

// fold maps a character to the capital letter or sign that it looks like.
func fold(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r < 0x80:
		return r
	case r >= '！' && r <= '～': // full width
		return fold(r - '！' + '!')
	case unicode.Is(unicode.Pd, r) || r == '−':
		return '-'
	case r >= 0x1D400 && r <= 0x1D6A3: // mathematical letters: thirteen alphabets of 52
		if n := (r - 0x1D400) % 52; n < 26 {
			return 'A' + n
		} else {
			return 'A' + n - 26
		}
	case r >= 'Ⓐ' && r <= 'ⓩ':
		return 'A' + (r-'Ⓐ')%26
	}
	if i := slices.Index([]rune(lookalikes), r); i >= 0 {
		return rune(drawnLike[i])
	}
	return unicode.ToUpper(r)
}
