package datadir

import "strings"

// Command is the command line of a verb for this data directory, to be copied and run in any shell. named says
// whether the directory had to be named; the default one need not be.
func (d Dir) Command(verb string, named bool) string {
	if !named {
		return "hermes " + verb
	}
	return "hermes --data " + quoted(string(d)) + " " + verb
}

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
