package chat

import (
	"strings"
	"testing"
)

// Text is broken the same way however it arrives, and joins to what was said.
func TestWrap(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short":           {"one two", "one two"},
		"between words":   {"the quick brown fox jumps over it", "the quick brown fox\njumps over it"},
		"exactly full":    {"aaaaaaaaa bbbbbbbbbb cc", "aaaaaaaaa bbbbbbbbbb\ncc"},
		"its own lines":   {"one\n\n  two\n", "one\n\n  two\n"},
		"a long word":     {"see https://example.com/a/very/long/path now", "see\nhttps://example.com/a/very/long/path\nnow"},
		"code stays":      {"```\nsome code that is longer than the line\n```\nand words that are wrapped", "```\nsome code that is longer than the line\n```\nand words that are\nwrapped"},
		"wide characters": {"漢字漢字漢字漢字漢字漢字", "漢字漢字漢字漢字漢字\n漢字"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(c.in)} {
				w := newWrapper(20)
				var got strings.Builder
				for rest := []rune(c.in); len(rest) > 0; {
					n := min(size, len(rest))
					got.WriteString(w.add(string(rest[:n])))
					rest = rest[n:]
				}
				got.WriteString(w.flush())
				if got.String() != c.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got.String(), c.want)
				}
			}
		})
	}
	if newWrapper(0) != nil {
		t.Error("a terminal of no width is wrapped")
	}
}

func TestToolEndText(t *testing.T) {
	for millis, want := range map[int64]string{0: "<1ms", 7: "7ms", 999: "999ms", 1234: "1.2s", 61_000: "1m1s"} {
		if got := tookText(millis); got != want {
			t.Errorf("%d: %s, want %s", millis, got, want)
		}
	}
	for result, want := range map[string]string{`{"error":"denied by the user"}`: "denied by the user", "plain": "plain", `{"other":1}`: `{"other":1}`, `{"error":"cut…`: `{"error":"cut…`} {
		if got := errorText(result); got != want {
			t.Errorf("%s: %s", result, got)
		}
	}
}
