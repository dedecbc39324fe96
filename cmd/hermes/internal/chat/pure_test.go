package chat

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 漢 🙂\n\t": "plain é 漢 🙂\n\t",
		"rm x\recho ok":   "rm x^Mecho ok",
		"\x1b[2Jhi\x7f":   "^[[2Jhi^?",
		"\u009b2J":        "<U+009B>2J",
		"a\u202eb\u2066c": "a<U+202E>b<U+2066>c",
		"a\u200bb\ufeff":  "a<U+200B>b<U+FEFF>",
		"nul\x00":         "nul^@",
	} {
		if got := visible(in); got != want {
			t.Errorf("visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := brief("  a\n b\tc"+strings.Repeat("é", 50), 10); got != "a b céééé…" {
		t.Error(got)
	}
}

func TestDecisionOf(t *testing.T) {
	for in, want := range map[string]string{"o": "once", "ONCE": "once", " s ": "session", "always": "always", "d": "deny", "": "", "y": "", "on": "", "oo": ""} {
		got, ok := decisionOf(in)
		if got != want || ok != (want != "") {
			t.Errorf("decisionOf(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestHistoryOfLines(t *testing.T) {
	h := &history{}
	for _, line := range []string{"a", "a", "", "b"} {
		h.Add(line)
	}
	h.closed = true
	h.Add("secret answer")
	if h.Len() != 0 {
		t.Error("answers are offered")
	}
	h.closed = false
	if h.Len() != 2 || h.At(0) != "b" || h.At(1) != "a" {
		t.Errorf("%v", h.lines)
	}
	for range 2 * maxHistory {
		h.Add("x")
		h.Add("y")
	}
	if h.Len() != maxHistory {
		t.Error(h.Len())
	}
}
