package tools

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

type danger struct {
	pattern *regexp.Regexp
	// needs lists texts of which one must occur for pattern to match.
	needs  []string
	reason string
}

// dangers is a constant table, compiled when the first command is judged. It is a seat belt, not a sandbox: it keeps an
// allow rule from covering what nobody means to allow unseen. What it does not
// know is still asked when no rule covers it. Case does not count, because on
// some disks it does not count for the names of programs either.
var dangers = sync.OnceValue(func() []danger { return compileDangers(dangerTable()) })

func compileDangers(table [][2]string) []danger {
	out := make([]danger, len(table))
	for i, row := range table {
		pattern := `(?i)` + row[0]
		out[i] = danger{regexp.MustCompile(pattern), needed(pattern), row[1]}
	}
	return out
}

// Dangerous reports whether a command must always be put before a person, and
// why. It may be wrong in both directions and errs towards asking: a command
// is judged as it is written, as its words read without quoting, and as a
// shell would read it, with the scripts it hands to other shells.
func Dangerous(command string) (reason string, dangerous bool) {
	if why := deceives(command); why != "" {
		return why, true
	}
	readings, odd := readCommand(command)
	for i, text := range append(readings, unquoted(command)) {
		if text = norm.NFKC.String(text); slices.Contains(readings[:min(i, len(readings))], text) {
			continue
		}
		lower := strings.ToLower(text)
		for _, d := range dangers() {
			if containsAny(lower, d.needs) && d.pattern.MatchString(text) {
				return d.reason, true
			}
		}
	}
	return odd, odd != ""
}

// quoting is what a shell removes before it looks a word up; taking it away
// keeps r\m and "rm" from being another word.
var quoting = strings.NewReplacer("\\\n", "", `\`, "", `"`, "", `'`, "", "\t", " ", "\n", " ; ", "\r", " ; ")

// unquoted is a command as its words read, for what the shell's grammar does not cover: texts for other interpreters.
func unquoted(command string) string {
	plain := quoting.Replace(command)
	for _, known := range [][2]string{{"HOME", "~"}, {"PWD", "."}, {"IFS", " "}, {"HERMES_HOME", "hermes_home"}} {
		plain = strings.ReplaceAll(plain, "${"+known[0]+"}", known[1])
	}
	return homeVariable.ReplaceAllStringFunc(plain, func(v string) string {
		if v == "$HERMES_HOME" {
			return "hermes_home"
		}
		return "~"
	})
}

var homeVariable = regexp.MustCompile(`\$(HERMES_)?HOME\b`)

// deceives finds characters by which a command is something else than it looks.
func deceives(command string) string {
	word := true
	for _, r := range command {
		switch {
		case r == '\n' || r == '\t':
		case unseen(r):
			return "contains characters that cannot be seen"
		case r > unicode.MaxASCII && unicode.IsSpace(r):
			return "contains a gap that is none for the shell"
		case word && r > unicode.MaxASCII && (unicode.Is(unicode.Pd, r) || r == '\u2212'):
			return "contains a dash that is none for programs"
		}
		word = unicode.IsSpace(r)
	}
	return ""
}
