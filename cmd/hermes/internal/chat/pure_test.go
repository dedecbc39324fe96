package chat

import (
	"testing"
)

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
