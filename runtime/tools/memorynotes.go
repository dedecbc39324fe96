package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"
)

// Default limits of the two memory files, in characters (memory.memory_char_limit, memory.user_char_limit).
const (
	defaultMemoryLimit = 2200
	defaultUserLimit   = 1375
	// noteMark stands between two notes, on a line of its own.
	noteMark = "\n§\n"
)

// notes are the entries of one memory file, oldest first.
type notes []string

func parseNotes(text string) notes {
	var out notes
	for note := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), noteMark) {
		if note = strings.TrimSpace(note); note != "" && note != "§" {
			out = append(out, note)
		}
	}
	return out
}

func (n notes) String() string {
	if len(n) == 0 {
		return ""
	}
	return strings.Join(n, noteMark) + "\n"
}

func (n notes) chars() int { return utf8.RuneCountInString(n.String()) }

// change applies one action of the memory tool. The notes never grow over limit characters: the error then says what is
// there, so that the model can shorten or drop something.
func (n notes) change(action, text, old string, limit int) (notes, error) {
	if action != "remove" {
		var err error
		if text, err = cleanNote(text); err != nil {
			return n, err
		}
	}
	out := slices.Clone(n)
	switch action {
	case "add":
		if slices.Contains(n, text) {
			return n, nil
		}
		out = append(out, text)
	case "replace", "remove":
		i, err := n.find(old)
		if err != nil {
			return n, err
		}
		if action == "remove" {
			out = slices.Delete(out, i, i+1)
		} else {
			out[i] = text
		}
	}
	if size := out.chars(); size > limit && size > n.chars() {
		return n, fmt.Errorf("the notes would have %d characters and the limit is %d: replace or remove some first; they are:\n%s", size, limit, n)
	}
	return out, nil
}

// find gives the one note that contains old.
func (n notes) find(old string) (int, error) {
	if strings.TrimSpace(old) == "" {
		return 0, errors.New("old_text has to say which note: a passage that only it contains")
	}
	at, found := 0, 0
	for i, note := range n {
		if note == old {
			return i, nil
		}
		if strings.Contains(note, old) {
			at, found = i, found+1
		}
	}
	switch found {
	case 0:
		return 0, fmt.Errorf("no note contains %q; the notes are:\n%s", clip(oneLine(old), 100), n)
	case 1:
		return at, nil
	}
	return 0, fmt.Errorf("%d notes contain %q: use a passage that only one contains", found, clip(oneLine(old), 100))
}

// cleanNote refuses what would not be one note, and text that a person who looks at the file could not see. A note goes
// into every later prompt, so what frames a prompt is taken apart.
func cleanNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "":
		return "", errors.New("text is empty")
	case strings.Contains("\n"+text+"\n", noteMark):
		return "", errors.New("text contains a line with only §, which separates notes: add them one by one")
	case strings.ContainsFunc(text, unseen):
		return "", errors.New("text contains characters that cannot be seen: leave them out")
	}
	return sanitize(text), nil
}

// unseen are control and formatting characters other than tab and newline.
func unseen(r rune) bool {
	switch {
	case r == '\t' || r == '\n':
		return false
	case r < ' ' || (r >= 0x7f && r < 0xa0):
		return true
	}
	return invisible(r)
}

// isMissing reports that a file is not there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
