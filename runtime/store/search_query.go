package store

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQueryChars caps the text of a search; what is longer is cut.
const maxQueryChars = 2048

// ErrEmptyQuery means that a search names nothing to look for.
var ErrEmptyQuery = errors.New("the search has no words in it: say what to look for")

// query is what a person looks for: every term must occur, in any order.
type query struct {
	// terms are as typed; folded are they in small letters.
	terms, folded []string
}

// parseQuery splits a search into terms at white space; text in double quotes is one term, white space and all. No
// input is an error but one that is empty.
func parseQuery(text string) (query, error) {
	text = strings.ToValidUTF8(text, " ")
	if runes := []rune(text); len(runes) > maxQueryChars {
		text = string(runes[:maxQueryChars])
	}
	var q query
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 { // inside quotes
			q.add(strings.TrimFunc(part, blank))
			continue
		}
		for _, term := range strings.FieldsFunc(part, blank) {
			q.add(term)
		}
	}
	if len(q.terms) == 0 {
		return query{}, ErrEmptyQuery
	}
	return q, nil
}

func (q *query) add(term string) {
	// SQLite takes a text to end at NUL, for LIKE as for full text.
	term = strings.ReplaceAll(term, "\x00", "")
	if term != "" {
		q.terms = append(q.terms, term)
		q.folded = append(q.folded, fold(term))
	}
}

// blank is white space, or a character that nobody types to look for.
func blank(r rune) bool { return unicode.IsSpace(r) || r == 0 }

// words is the query for the index of words: each term a phrase of its own, so that nothing in it is syntax.
func (q query) words() string {
	quoted := make([]string, len(q.terms))
	for i, term := range q.terms {
		quoted[i] = quoteFTS(term)
	}
	return strings.Join(quoted, " ")
}

// maxTrigrams bounds how many trigrams are looked up: a few say which rows may match, and each row is looked at.
const maxTrigrams = 32

// trigrams is the query for the index of trigrams, "" when no term has three characters. It finds every row that
// has the terms and some that do not.
func (q query) trigrams() string {
	var quoted []string
	seen := map[string]bool{}
	for _, term := range q.terms {
		runes := []rune(term)
		step := max(1, len(runes)/maxTrigrams)
		for i := 0; i+3 <= len(runes) && len(quoted) < maxTrigrams; i += step {
			if t := string(runes[i : i+3]); !seen[t] {
				seen[t] = true
				quoted = append(quoted, quoteFTS(t))
			}
		}
	}
	return strings.Join(quoted, " AND ")
}

func quoteFTS(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// wordless is true when the index of words cannot find the query: languages written without spaces are one word to
// it, and signs are none.
func (q query) wordless() bool {
	for _, term := range q.terms {
		if !strings.ContainsFunc(term, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) ||
			strings.ContainsFunc(term, unspaced) {
			return true
		}
	}
	return false
}

// unspaced is true for letters of scripts that put no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// matches is true when every term occurs in one of the texts, whatever the case.
func (q query) matches(texts ...string) bool {
	for i, text := range texts {
		texts[i] = fold(text)
	}
	for _, term := range q.folded {
		found := false
		for _, text := range texts {
			found = found || strings.Contains(text, term)
		}
		if !found {
			return false
		}
	}
	return true
}

// fold puts text in small letters, one rune for one rune.
func fold(text string) string { return strings.Map(unicode.ToLower, text) }

// The marks around a match in a snippet, and what stands for text that was left out.
const (
	MatchStart = ">>>"
	MatchEnd   = "<<<"
	ellipsis   = "…"
)

// snippetRunes is how much text a snippet shows before the first match, and half of what it shows from there on.
const snippetRunes = 60

// snippet cuts the surroundings of the first match out of the first text that has one and marks every match in it.
func (q query) snippet(texts ...string) string {
	for _, text := range texts {
		folded := fold(text)
		first := -1
		for _, term := range q.folded {
			if at := strings.Index(folded, term); at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
		if first >= 0 {
			return q.cut([]rune(text), []rune(folded), utf8.RuneCountInString(folded[:first]))
		}
	}
	return ""
}

func (q query) cut(text, folded []rune, at int) string {
	from, to := max(0, at-snippetRunes), min(len(text), at+2*snippetRunes)
	var b strings.Builder
	if from > 0 {
		b.WriteString(ellipsis)
	}
	for i := from; i < to; {
		n := min(q.matchAt(folded[i:]), to-i)
		if n == 0 {
			b.WriteRune(text[i])
			i++
			continue
		}
		b.WriteString(MatchStart + string(text[i:i+n]) + MatchEnd)
		i += n
	}
	if to < len(text) {
		b.WriteString(ellipsis)
	}
	return b.String()
}

// matchAt is the length of the longest term that text begins with, in runes.
func (q query) matchAt(text []rune) int {
	longest := 0
	for _, term := range q.folded {
		runes := []rune(term)
		if len(runes) > longest && len(runes) <= len(text) && string(text[:len(runes)]) == term {
			longest = len(runes)
		}
	}
	return longest
}
