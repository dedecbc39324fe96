package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func visibleWidth(line string) int { return ansi.StringWidth(line) }

// TestHistory is kept between conversations, for its owner alone, and only as much as is of use.
func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history", "default", "alice.jsonl")
	h := openHistory(path)
	for _, entry := range []string{"one", "two\nlines", "two\nlines", " secret", strings.Repeat("x", maxEntry+1), "three"} {
		h.add(entry)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	h = openHistory(path)
	if got := fmt.Sprintf("%q", h.entries); got != `["one" "two\nlines" "three"]` {
		t.Error(got)
	}
	got := []string{h.older("draft"), h.older(""), h.older(""), h.older("one"), h.newer(""), h.newer(""), h.newer(""), h.newer("draft")}
	if want := `["three" "two\nlines" "one" "one" "two\nlines" "three" "draft" "draft"]`; fmt.Sprintf("%q", got) != want {
		t.Errorf("%q", got)
	}
}

// TestHistoryIsBounded also in its file, and survives lines that are none of ours.
func TestHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alice.jsonl")
	if err := os.WriteFile(path, []byte("not json\n"+strings.Repeat("\"old\"\n", 2*maxHistory)), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory(path)
	for i := range maxHistory + 10 {
		h.remember(fmt.Sprint(i))
	}
	h.add("last")
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") > maxHistory+1 || !strings.HasSuffix(string(raw), "\"last\"\n") || len(h.entries) != maxHistory {
		t.Errorf("%d lines, %d entries, %v", strings.Count(string(raw), "\n"), len(h.entries), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestHistoryThatCannotBeKept is one of this conversation only.
func TestHistoryThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", filepath.Join(file, "alice.jsonl")} {
		h := openHistory(path)
		h.add("one")
		if got := h.older(""); got != "one" {
			t.Errorf("%q: %q", path, got)
		}
	}
}
