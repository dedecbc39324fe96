package tools

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever a configuration selects, the overview says what the model is offered: by tool and by toolset.
func TestTheOverviewIsWhatTheModelIsOffered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"all", "mine", "mcp-x"}
	for _, c := range catalogue() {
		names = append(names, c.Name)
	}
	pick := func(n int) (out []string) {
		for range random.IntN(n) {
			out = append(out, names[random.IntN(len(names))])
		}
		return out
	}
	seen := map[State]bool{}
	for range 300 {
		config := Config{Toolsets: pick(4), DisabledToolsets: slices.DeleteFunc(pick(4), func(n string) bool { return n == "all" }), CustomToolsets: map[string]CustomToolset{"mine": {Tools: []string{"read_file", "x_one"}, Includes: []string{"web"}}}}
		s := newTestSet(t, func(c *Config) {
			c.Toolsets, c.DisabledToolsets, c.CustomToolsets = config.Toolsets, config.DisabledToolsets, config.CustomToolsets
		})
		broken := random.IntN(2) == 0
		for _, name := range []string{"x_one", "x_two"} {
			tool := Tool{Definition: Definition{Name: name, Parameters: object(nil)}, Toolset: "mcp-x", Handler: okHandler, Available: func() bool { return !broken || name == "x_one" }}
			if err := s.Register(tool, false); err != nil {
				t.Fatal(err)
			}
		}
		var offered, listed, inSets []string
		for _, d := range s.Definitions() {
			offered = append(offered, d.Name)
		}
		o := s.Overview()
		for _, tool := range o.Tools {
			if tool.State == StateOn {
				listed = append(listed, tool.Name)
			}
		}
		for _, set := range o.Toolsets {
			seen[set.State] = true
			inSets = append(inSets, set.On...)
			var want []string
			for _, tool := range set.Tools {
				if slices.Contains(offered, tool) {
					want = append(want, tool)
				}
			}
			all, some := len(want) > 0 && len(want) == len(set.Tools), len(want) > 0
			if !slices.Equal(set.On, want) || (set.State == StateOn) != all || (set.State == StatePartly) != (some && !all) || (set.Why == "") != all {
				t.Fatalf("%v without %v: toolset %+v, offered %v", config.Toolsets, config.DisabledToolsets, set, want)
			}
		}
		slices.Sort(inSets)
		if inSets = slices.Compact(inSets); !slices.Equal(offered, listed) || !slices.Equal(offered, inSets) {
			t.Fatalf("%v without %v: offered %v, listed %v, in toolsets %v", config.Toolsets, config.DisabledToolsets, offered, listed, inSets)
		}
	}
	for _, state := range []State{StateOn, StatePartly, StateOff, StateUnavailable} {
		if !seen[state] {
			t.Errorf("no toolset was ever %s", state)
		}
	}
}
