package llm

import (
	"unicode"
	"unicode/utf8"
)

// denseLead is the first byte of U+1000 and beyond in UTF-8; the dense scripts begin with the Hangul letters, U+1100.
const denseLead = 0xE1

// EstimateTokens guesses how many tokens a text has: one per character of dense scripts, else a quarter of its UTF-8
// bytes, rounded up. Implements M8.
func EstimateTokens(s string) int64 {
	dense, bytes := int64(0), int64(len(s))
	for i := 0; i < len(s); {
		if s[i] < denseLead { // nearly all text there is: a session is counted whole at the beginning of a turn
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			dense++
			bytes -= int64(n)
		}
		i += n
	}
	return dense + (bytes+3)/4
}
