package tools

import (
	"fmt"
	"strings"
)

// edit replaces one passage of a text.
type edit struct {
	Old string `json:"old_text"`
	New string `json:"new_text"`
	All bool   `json:"replace_all"`
}

// applied says where an edit took place.
type applied struct {
	// line of the first place, counted from 1 in the text as it was before this edit.
	line, count int
	// loose matches differ from old_text in white space.
	loose bool
}

// applyEdits applies edits in order. An edit has to match exactly once, or at least once with All. A text whose lines
// all end with CRLF is edited as if they ended with LF and keeps its endings. What does not match exactly is looked for
// without regard to white space at the ends of lines, and taken only when that place is unique. An error names the
// edit, counted from 1, and leaves everything as it was.
func applyEdits(text string, edits []edit) (string, []applied, error) {
	before := text
	crlf := onlyCRLF(text)
	if crlf {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	done := make([]applied, 0, len(edits))
	for i, e := range edits {
		if crlf || !strings.Contains(text, "\r") {
			e.Old, e.New = strings.ReplaceAll(e.Old, "\r\n", "\n"), strings.ReplaceAll(e.New, "\r\n", "\n")
		}
		after, a, err := e.apply(text)
		if err != nil {
			return before, nil, fmt.Errorf("edit %d: %w", i+1, err)
		}
		text = after
		done = append(done, a)
	}
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if text == before {
		return before, nil, errNoChange
	}
	return text, done, nil
}

// onlyCRLF reports that every line of a text ends with CRLF and no CR stands elsewhere.
func onlyCRLF(text string) bool {
	pairs := strings.Count(text, "\r\n")
	return pairs > 0 && pairs == strings.Count(text, "\n") && pairs == strings.Count(text, "\r")
}

func (e edit) apply(text string) (string, applied, error) {
	if e.Old == "" {
		return text, applied{}, fmt.Errorf("old_text is empty: use write_file to write a new file")
	}
	n := strings.Count(text, e.Old)
	if n == 1 && strings.Index(text, e.Old) != strings.LastIndex(text, e.Old) {
		n = 2 // they overlap, which Count does not see
	}
	switch {
	case n > 1 && !e.All:
		return text, applied{}, fmt.Errorf("old_text occurs %d times, first at lines %s: add surrounding lines until it is unique, or set replace_all", n, firstLines(text, e.Old))
	case n > 0:
		return strings.ReplaceAll(text, e.Old, e.New), applied{line: lineOf(text, strings.Index(text, e.Old)), count: n}, nil
	}
	from, to, matches := findLoosely(text, e.Old)
	switch {
	case matches == 0:
		return text, applied{}, fmt.Errorf("old_text does not occur: read the file again and copy the passage exactly%s", nearest(text, e.Old))
	case matches > 1:
		return text, applied{}, fmt.Errorf("old_text does not occur exactly, and %d places match it when white space is ignored: copy the passage exactly", matches)
	}
	replaced := reindent(e.New, e.Old, text[from:to])
	return text[:from] + replaced + text[to:], applied{line: lineOf(text, from), count: 1, loose: true}, nil
}

// findLoosely looks for whole lines that equal those of old when white space at both ends of each line is ignored. It
// returns the bytes they take, without the last newline, and how many places there are.
func findLoosely(text, old string) (from, to, matches int) {
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	blank := true
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
		blank = blank && want[i] == ""
	}
	if blank {
		return 0, 0, 0
	}
	lines := strings.Split(text, "\n")
	trimmed := make([]string, len(lines))
	for i, l := range lines {
		trimmed[i] = strings.TrimSpace(l)
	}
	at := 0
	for i := range lines {
		if i+len(want) <= len(lines) && equalLines(trimmed[i:], want) {
			matches++
			from, to = at, at+len(strings.Join(lines[i:i+len(want)], "\n"))
		}
		at += len(lines[i]) + 1
	}
	return from, to, matches
}

func equalLines(have, want []string) bool {
	for i := range want {
		if have[i] != want[i] {
			return false
		}
	}
	return true
}

// reindent gives the replacement the indentation of the place: the first line of the passage tells how it differs from
// what was written.
func reindent(replacement, old, found string) string {
	replacement = strings.Trim(replacement, "\n")
	wrote, have := indentOf(strings.TrimLeft(old, "\n")), indentOf(found)
	if wrote == have {
		return replacement
	}
	lines := strings.Split(replacement, "\n")
	for i, l := range lines {
		if rest, ok := strings.CutPrefix(l, wrote); ok && strings.TrimSpace(l) != "" {
			lines[i] = have + rest
		}
	}
	return strings.Join(lines, "\n")
}

func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

func lineOf(text string, at int) int { return strings.Count(text[:at], "\n") + 1 }

// firstLines lists the lines of the first occurrences.
func firstLines(text, old string) string {
	const shown = 5
	var out []string
	for at := 0; len(out) < shown; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			break
		}
		out = append(out, fmt.Sprint(lineOf(text, at+i)))
		at += i + len(old)
	}
	return strings.Join(out, ", ")
}

// nearest names a line that looks like the first one of old, so that a model need not read the whole file again.
func nearest(text, old string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	first = strings.Join(strings.Fields(first), " ")
	if first == "" {
		return ""
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if strings.Contains(strings.Join(strings.Fields(line), " "), first) {
			return fmt.Sprintf("; its first line is like line %d", n)
		}
	}
	return ""
}
