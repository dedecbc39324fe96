package tools

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestPruneSpill(t *testing.T) {
	const a, b, c = "20260101_000000_aaaaaaaa.txt", "20260101_000001_bbbbbbbb.txt", "20260101_000002_cccccccc.txt"
	tests := []struct {
		name  string
		files int
		bytes int64
		left  []string
	}{
		{"room for all", 3, 30, []string{a, b, c}},
		{"too many", 2, 30, []string{b, c}},
		{"too large", 3, 29, []string{b, c}},
		{"none may stay", 0, 30, nil},
		{"the newest is too large", 3, 9, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeTree(t, dir, map[string]string{a: "0123456789", b: "0123456789", c: "0123456789", "notes.txt": "mine", "20260101_000000_dddddddd.txt/x": ""})
			if err := pruneSpill(dir, tt.files, tt.bytes); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, e := range entries {
				left = append(left, e.Name())
			}
			want := append(slices.Clone(tt.left), "20260101_000000_dddddddd.txt", "notes.txt")
			slices.Sort(want)
			if !slices.Equal(left, want) {
				t.Errorf("left %v, want %v", left, want)
			}
		})
	}
}

// What was left out of a result can be read with read_file, and old output
// does not pile up.
func TestSpilledOutputIsReadableAndBounded(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))
	s := newTestSet(t, func(c *Config) { c.OutputLimit, c.Clock, c.Mode = 100, clk, ModeAsk; c.Allow = []string{"terminal"} })
	var last string
	for range maxSpillFiles + 3 {
		clk.Step(time.Second)
		got := must(t, s, "terminal", sh("seq 1 200"))
		last = regexp.MustCompile(`complete output: (\S+)`).FindStringSubmatch(got)[1]
	}
	entries, err := os.ReadDir(s.config.SpillDir)
	if err != nil || len(entries) != maxSpillFiles {
		t.Errorf("%d files, %v", len(entries), err)
	}
	if got := must(t, s, "read_file", map[string]any{"path": last, "offset": 198}); got != "198\n199\n200\n\n[lines 198 to 200, the end of the file]" {
		t.Errorf("read back %q", got)
	}
}
