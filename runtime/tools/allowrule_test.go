package tools

import (
	"strings"
	"testing"
)

func TestRuleMatches(t *testing.T) {
	tests := []struct {
		rule, tool, command string
		want                bool
	}{
		{"write_file", "write_file", "", true},
		{"write_file", "terminal", "", false},
		{"terminal", "terminal", "a; b", true},
		{"terminal:git *", "terminal", "git log", true},
		{"terminal:git *", "terminal", "  git log ", true},
		{"terminal:git *", "terminal", "git", false},
		{"terminal:git *", "terminal", "gitk x", false},
		{"terminal:git *", "write_file", "git log", false},
		{"terminal:make", "terminal", "make", true},
		{"terminal:make", "terminal", "make install", false},
		{"terminal:ls ?", "terminal", "ls a", true},
		{"terminal:ls ?", "terminal", "ls ab", false},
		{"terminal:*a*b*", "terminal", "xxaxxabxx", true},
		// Operators are never covered by a wildcard.
		{"terminal:git *", "terminal", "git log; rm x", false},
		{"terminal:git *", "terminal", "git log && rm x", false},
		{"terminal:git *", "terminal", "git log & rm x", false},
		{"terminal:git *", "terminal", "git log | sh", false},
		{"terminal:git *", "terminal", "git log $(rm x)", false},
		{"terminal:git *", "terminal", "git log ${x:=y}", false},
		{"terminal:git *", "terminal", "git log `rm x`", false},
		{"terminal:git *", "terminal", "git log\nrm x", false},
		{"terminal:git *", "terminal", "git log > x", false},
		{"terminal:git *", "terminal", "git log < x", false},
		{"terminal:git *", "terminal", `git log "a;b"`, false},
		{"terminal:*", "terminal", "a;b", false},
		{"terminal:a?b", "terminal", "a;b", false},
		{"terminal:git *", "terminal", "git log $HOME", true},
		// Unless the glob spells the operator where it is.
		{"terminal:git log | head *", "terminal", "git log | head -3", true},
		{"terminal:git log | head *", "terminal", "git log | head | sh", false},
		{"terminal:git log | head *", "terminal", "git log; x | head -3", false},
		{"terminal:*|*", "terminal", "a|b", true},
		{"terminal:*|*", "terminal", "a||b", false},
		{"terminal:cd * && make", "terminal", "cd x && make", true},
		{"terminal:echo $(date)", "terminal", "echo $(date)", true},
	}
	for _, tt := range tests {
		rules, err := ParseRules([]string{tt.rule})
		if err != nil {
			t.Fatal(err)
		}
		if got := rules[0].Matches(tt.tool, tt.command); got != tt.want {
			t.Errorf("%q matches %s %q = %v, want %v", tt.rule, tt.tool, tt.command, got, tt.want)
		}
	}
}

func TestParseRulesSaysWhatToChange(t *testing.T) {
	for rule, want := range map[string]string{
		"":                "write a tool name",
		"rm -rf":          "write a tool name",
		"write_file:/x/*": `write "write_file" to allow`,
		"terminal:":       "write terminal to allow every call",
	} {
		if _, err := ParseRules([]string{"read_file", rule}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), rule) {
			t.Errorf("ParseRules(%q) = %v, want %q", rule, err, want)
		}
	}
}

// naiveMatch is the definition of a glob, by trying everything.
func naiveMatch(glob, s string, i int) bool {
	if glob == "" {
		return i == len(s)
	}
	switch {
	case glob[0] == '*':
		return naiveMatch(glob[1:], s, i) || (i < len(s) && !operator(s, i) && naiveMatch(glob, s, i+1))
	case i == len(s):
		return false
	case glob[0] == s[i], glob[0] == '?' && !operator(s, i):
		return naiveMatch(glob[1:], s, i+1)
	}
	return false
}

func FuzzGlobMatch(f *testing.F) {
	f.Add("git *|head *", "git log|head -3")
	f.Add("*a|*b", "xa|ya|zb")
	f.Add("*$(*)?", "a$(b)c")
	f.Fuzz(func(t *testing.T, glob, s string) {
		// The definition takes exponential time.
		if len(glob) > 12 || len(s) > 24 || strings.Count(glob, "*") > 4 {
			return
		}
		got := globMatch(glob, s)
		if want := naiveMatch(glob, s, 0); got != want {
			t.Errorf("globMatch(%q, %q) = %v, want %v", glob, s, got, want)
		}
		if got && !strings.ContainsAny(glob, ";&|<>`$\n\r\x00") && strings.ContainsAny(s, ";&|<>`\n\r\x00") {
			t.Errorf("%q without operators matches %q", glob, s)
		}
	})
}
