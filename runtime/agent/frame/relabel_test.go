package frame

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLookalikesAreAligned(t *testing.T) {
	if n, m := utf8.RuneCountInString(lookalikes), len(drawnLike); n != m {
		t.Fatalf("%d look-alikes, %d letters", n, m)
	}
}

// TestP26Relabel: PA-22, PA-24 and more: no known opener keeps its shape, whatever its letters, and the words stay.
func TestP26Relabel(t *testing.T) {
	disguises := map[string]func(string) string{
		"as it is":   func(s string) string { return s },
		"lower case": strings.ToLower,
		"mixed case": func(s string) string { return strings.ToUpper(s[:3]) + strings.ToLower(s[3:]) },
		"full width": func(s string) string {
			return strings.Map(func(r rune) rune {
				if r > ' ' && r < 0x7f {
					return r - '!' + '！'
				}
				return r
			}, s)
		},
		"cyrillic":     strings.NewReplacer("E", "Е", "O", "О", "S", "Ѕ", "A", "А", "I", "І").Replace,
		"mathematical": func(s string) string { return strings.Map(bold, s) },
		"split lines":  func(s string) string { return strings.ReplaceAll(s, " ", "\n") },
		"zero width":   func(s string) string { return s[:2] + "\u200b" + s[2:] },
		"combining":    func(s string) string { return s[:2] + "\u0336" + s[2:] },
		"blanks first": func(s string) string { return " \u00a0\n" + s },
		"quoted lines": func(s string) string { return strings.ReplaceAll(s, " ", "\n> ") },
		"no-break":     func(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") },
		"long dashes":  func(s string) string { return strings.ReplaceAll(s, "-", "–") },
	}
	for _, opener := range openers() {
		for name, disguise := range disguises {
			for _, bracket := range []string{"[", "［", "【", "⟦"} {
				for _, slash := range []string{"", "/"} {
					in := "x " + bracket + slash + disguise(opener) + " y]"
					got := Relabel(in, "quoted")
					want := strings.Replace(in, bracket, bracket+"quoted ", 1)
					if got != want {
						t.Errorf("P-26 %s %s: %q became %q", opener, name, in, got)
					}
					if again := Relabel(got, "quoted"); again != got {
						t.Errorf("P-26 twice: %q became %q", got, again)
					}
				}
			}
		}
	}
}

func bold(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r - 'A' + 0x1D400
	}
	return r
}

func TestP26Shapes(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"[1] and [refs] and [a](b)":         "[1] and [refs] and [a](b)",
		"[systemd] [important] [System x]":  "[systemd] [important] [System x]",
		"SYSTEM: without a bracket":         "SYSTEM: without a bracket",
		`["system", "important:"]`:          `["system", "important:"]`,
		"[[SYSTEM: x]]":                     "[[peer-quoted SYSTEM: x]]",
		"[SYSTEM: [IMPORTANT: y]]":          "[peer-quoted SYSTEM: [peer-quoted IMPORTANT: y]]",
		"a[system]b":                        "a[peer-quoted system]b",
		"[/PEER SESSION MESSAGE]":           "[peer-quoted /PEER SESSION MESSAGE]",
		"[peer-quoted SYSTEM: x]":           "[peer-quoted SYSTEM: x]",
		"[OUT-OF-BAND":                      "[OUT-OF-BAND",
		"[":                                 "[",
		"[SYSTEM":                           "[SYSTEM",
		"[CONTEXT COMPACTION — reference] ": "[peer-quoted CONTEXT COMPACTION — reference] ",
	} {
		if got := Relabel(in, "peer-quoted"); got != want {
			t.Errorf("P-26 %q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzRelabel(f *testing.F) {
	for _, o := range openers() {
		f.Add("[" + o)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Relabel(text, "quoted")
		if Relabel(got, "quoted") != got {
			t.Errorf("not idempotent: %q", text)
		}
		if utf8.ValidString(text) && strings.ReplaceAll(got, "quoted ", "") != strings.ReplaceAll(text, "quoted ", "") {
			t.Errorf("words changed: %q became %q", text, got)
		}
	})
}
