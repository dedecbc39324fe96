package tools

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one entry of the allow list: a tool, or a tool and a glob over what
// its calls are told apart by, the command for terminal and the origin for
// web_fetch.
type Rule struct {
	tool    string
	glob    string
	hasGlob bool
}

// ParseRules reads an allow list. Each error names the entry and says what to
// write instead.
func ParseRules(list []string) ([]Rule, error) {
	rules := make([]Rule, 0, len(list))
	for _, text := range list {
		tool, glob, hasGlob := strings.Cut(text, ":")
		tool, glob = strings.TrimSpace(tool), strings.TrimSpace(glob)
		switch {
		case !toolName.MatchString(tool):
			return nil, fmt.Errorf("allow rule %q: write a tool name, or terminal:<glob over the command>", text)
		case hasGlob && !slices.Contains([]string{toolsetTerminal, webFetch}, tool):
			return nil, fmt.Errorf("allow rule %q: only terminal and web_fetch take a pattern; write %q to allow the whole tool", text, tool)
		case hasGlob && glob == "":
			return nil, fmt.Errorf("allow rule %q: the pattern is empty; write %s to allow every call", text, tool)
		}
		rules = append(rules, Rule{tool: tool, glob: glob, hasGlob: hasGlob})
	}
	return rules, nil
}

// Matches reports whether the rule allows the call. In a glob, '*' stands for
// any text and '?' for one character, but neither stands for a shell operator:
// "git *" does not allow "git log; rm x". An operator the glob spells out is
// allowed where it is spelled.
func (r Rule) Matches(tool, subject string) bool {
	if r.tool != tool {
		return false
	}
	return !r.hasGlob || globMatch(r.glob, strings.TrimSpace(subject))
}

// operator reports whether s[i] takes part in shell syntax that starts another
// command, feeds one or redirects it.
func operator(s string, i int) bool {
	switch s[i] {
	case ';', '&', '|', '<', '>', '`', '\n', '\r', 0:
		return true
	case '$':
		return i+1 < len(s) && (s[i+1] == '(' || s[i+1] == '{')
	case '(':
		return i > 0 && s[i-1] == '$'
	}
	return false
}

// globMatch is the usual linear wildcard match with one backtracking point.
// Because '*' may not take an operator, the text before the last '*' can be
// settled as soon as the next '*' is reached, exactly as without operators:
// a later '*' can only be tried further right.
func globMatch(glob, s string) bool {
	g, i := 0, 0
	star, from := -1, 0
	for i < len(s) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, i
			g++
		case g < len(glob) && (glob[g] == s[i] || (glob[g] == '?' && !operator(s, i))):
			g++
			i++
		case star >= 0 && !operator(s, from):
			from++
			i, g = from, star+1
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}
