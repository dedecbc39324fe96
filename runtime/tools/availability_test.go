package tools

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// T8, case 96: a flake inside 60 s keeps the tool, outside drops it.
func TestT8CheckState(t *testing.T) {
	type probe struct {
		at     time.Duration
		probe  bool // what the check would say
		asked  bool // whether it is asked
		answer bool
	}
	tests := map[string][]probe{
		"yes is reused for 30 s":              {{0, true, true, true}, {29 * time.Second, false, false, true}, {30 * time.Second, true, true, true}},
		"no is reused for 30 s":               {{0, false, true, false}, {29 * time.Second, true, false, false}, {30 * time.Second, true, true, true}},
		"flake within 60 s keeps the tool":    {{0, true, true, true}, {59 * time.Second, false, true, true}},
		"failure after 60 s drops it":         {{0, true, true, true}, {60 * time.Second, false, true, false}},
		"a flake is not cached":               {{0, true, true, true}, {31 * time.Second, false, true, true}, {32 * time.Second, true, true, true}},
		"flakes do not extend the grace":      {{0, true, true, true}, {40 * time.Second, false, true, true}, {59 * time.Second, false, true, true}, {61 * time.Second, false, true, false}},
		"a first failure has nothing to keep": {{0, false, true, false}},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
			var a availability
			for _, s := range steps {
				asked := false
				got := a.ask(start.Add(s.at), func() bool { asked = true; return s.probe })
				if got != s.answer || asked != s.asked {
					t.Errorf("at %s: %v, asked %v, want %v, %v", s.at, got, asked, s.answer, s.asked)
				}
			}
		})
	}
}

func TestT8ChecksBelongToOneSetAndMayOptOut(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))
	up := map[string]bool{"a": true, "b": false}
	asked := 0
	sets := map[string]*Set{}
	for name := range up {
		sets[name] = newTestSet(t, func(c *Config) { c.Clock, c.Toolsets = clk, []string{"mcp-x"} })
		for _, tool := range []Tool{
			{Definition: Definition{Name: "cached"}, Available: func() bool { return up[name] }},
			{Definition: Definition{Name: "uncached"}, Available: func() bool { asked++; return up[name] }, UncachedCheck: true},
		} {
			tool.Parameters, tool.Toolset, tool.Handler = object(nil), "mcp-x", okHandler
			if err := sets[name].Register(tool, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a, b := len(names(sets["a"])), len(names(sets["b"])); a != 2 || b != 0 {
		t.Errorf("tools of two homes: %d and %d, want 2 and 0", a, b)
	}
	up["a"] = false
	if got := names(sets["a"]); len(got) != 1 || got[0] != "cached" {
		t.Errorf("tools = %v, want the cached one", got)
	}
	if asked != 3 {
		t.Errorf("the uncached check was asked %d times, want 3", asked)
	}
}
