package llm

import "unicode"

// EstimateTokens guesses how many tokens a text has: one per character of dense scripts, else a quarter of its UTF-8
// bytes, rounded up. Implements M8.
func EstimateTokens(s string) int64 {
	var dense, bytes int64
	for _, r := range s {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			dense++
			continue
		}
		bytes += int64(len(string(r)))
	}
	return dense + (bytes+3)/4
}
