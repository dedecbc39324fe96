package session

import "testing"

// TestMarkers: S-103, a marker counts only when it names the row's own parent.
func TestMarkers(t *testing.T) {
	config, err := Mark(`{"temperature":1}`, ResetFrom, "p")
	if err != nil || config != `{"_reset_from":"p","temperature":1}` {
		t.Fatalf("%s %v", config, err)
	}
	for _, c := range []struct {
		config string
		marker Marker
		parent string
		want   bool
	}{
		{config, ResetFrom, "p", true},
		{config, ResetFrom, "other", false},
		{config, BranchedFrom, "p", false},
		{config, ResetFrom, "", false},
		{`{"_reset_from":""}`, ResetFrom, "", false},
		{`{"_reset_from":7}`, ResetFrom, "7", false},
		{"", ResetFrom, "p", false},
		{"not json", ResetFrom, "p", false},
	} {
		if got := Marked(c.config, c.marker, c.parent); got != c.want {
			t.Errorf("S-103 %s %s %q: %v", c.config, c.marker, c.parent, got)
		}
	}
	for _, odd := range []string{"", "null", "[1]", "x"} {
		if got, err := Mark(odd, DelegateFrom, "p"); got != `{"_delegate_from":"p"}` || err != nil {
			t.Errorf("%q: %s %v", odd, got, err)
		}
	}
}
