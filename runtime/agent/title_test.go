package agent

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDeriveTitle is the first stage of S-241.
func TestDeriveTitle(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for in, want := range map[string]string{
		"hello":                           "hello",
		"  \n\n# Fix the   build\nplease": "Fix the build",
		"> - `quoted`":                    "quoted`",
		"":                                "",
		" \n\t":                           "",
		"\x00\x1b[31mred\x07":             "[31mred",
		"bad \xff\xfe utf-8":              "bad utf-8",
		"日本語のとても長い":                       "日本語のとても長い",
		long:                              strings.TrimSpace(strings.Repeat("word ", 11)) + "…",
		strings.Repeat("é", 100):          strings.Repeat("é", 59) + "…",
	} {
		got := DeriveTitle(in)
		if got != want || utf8.RuneCountInString(got) > 60 {
			t.Errorf("S-241 %q: %q, want %q", in, got, want)
		}
	}
}

// TestModelTitle: what models put around a title.
func TestModelTitle(t *testing.T) {
	for in, want := range map[string]string{
		"Fixing the build":                  "Fixing the build",
		"\"Fixing the build.\"":             "Fixing the build",
		"**Title: Fixing the build**":       "Fixing the build",
		"title:  “Fixing”\n\nAnd more text": "Fixing",
		"# Fixing\x1b[2J":                   "Fixing[2J",
		"\n\n":                              "",
		"\"\"":                              "",
		"Wie geht's?":                       "Wie geht's?",
	} {
		if got := ModelTitle(in); got != want {
			t.Errorf("S-241 %q: %q, want %q", in, got, want)
		}
	}
}

func FuzzTitles(f *testing.F) {
	f.Add("Title: \"x\".")
	f.Fuzz(func(t *testing.T, s string) {
		for _, title := range []string{DeriveTitle(s), ModelTitle(s)} {
			if utf8.RuneCountInString(title) > 60 || !utf8.ValidString(title) || strings.ContainsAny(title, "\n\r\x00\x1b") || title != strings.TrimSpace(title) {
				t.Errorf("%q from %q", title, s)
			}
		}
	})
}
