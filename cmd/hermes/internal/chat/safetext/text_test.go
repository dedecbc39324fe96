package safetext

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
		"\x9b2J":          "\uFFFD2J",
		"a\u202eb\u2066c": "a<U+202E>b<U+2066>c",
		"a\u200bb\ufeff":  "a<U+200B>b<U+FEFF>",
		"nul\x00":         "nul^@",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Brief("  a\n b\tc"+strings.Repeat("é", 50), 10); got != "a b céééé…" {
		t.Error(got)
	}
}
