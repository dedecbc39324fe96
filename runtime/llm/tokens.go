package llm

import (
	"unicode"
	"unicode/utf8"
)

// firstDense is the first character of the dense scripts, the Hangul letters.
const firstDense = 0x1100

// EstimateTokens guesses how many tokens a text has: one per character of dense scripts, else a quarter of its UTF-8
// bytes, rounded up. Implements M8.
func EstimateTokens(s string) int64 {
	var dense, bytes int64
	for _, r := range s {
		switch {
		case r < firstDense: // nearly all text there is: a session is counted whole before a request
			bytes += int64(utf8.RuneLen(r))
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			dense++
		default:
			bytes += int64(utf8.RuneLen(r))
		}
	}
	return dense + (bytes+3)/4
}
