package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// State says whether a tool or a toolset can be used.
type State string

// The states of a tool or a toolset.
const (
	StateOn State = "on"
	// StatePartly is a toolset of which some tools are on and some are not.
	StatePartly State = "partly"
	// StateOff is not selected, or disabled.
	StateOff State = "off"
	// StateUnavailable is selected and cannot work now.
	StateUnavailable State = "unavailable"
)

// ToolInfo describes one tool of a profile.
type ToolInfo struct {
	Name        string `json:"name"`
	Toolset     string `json:"toolset"`
	Description string `json:"description"`
	State       State  `json:"state"`
	// Why says what keeps it from being on.
	Why string `json:"why,omitempty"`
	// Approval says what a person is asked about: none, or what one decision covers.
	Approval string `json:"approval"`
}

// ToolsetInfo describes one toolset of a profile.
type ToolsetInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	State       State  `json:"state"`
	Why         string `json:"why,omitempty"`
	OptIn       bool   `json:"opt_in,omitempty"`
	// Tools are those it stands for; On are those of them that the model is offered now.
	Tools []string `json:"tools,omitempty"`
	On    []string `json:"on,omitempty"`
}

// Overview is what a profile's agent may use, what not, and why.
type Overview struct {
	Toolsets []ToolsetInfo `json:"toolsets"`
	Tools    []ToolInfo    `json:"tools"`
	// Approvals are the decisions that were given for always; they can be revoked.
	Approvals []Approval `json:"approvals"`
	// Notes say what the configuration names that is not there.
	Notes []string `json:"notes,omitempty"`
	// Servers are the MCP servers that the profile declares, by name.
	Servers []ServerInfo `json:"servers,omitempty"`
	// Served is false when the overview was read from the configuration: then what depends on the running agent, like
	// MCP servers, does not show.
	Served bool `json:"served"`
}

// Survey tells what a configuration selects, without making anything.
func Survey(c Config) (Overview, error) {
	selected, err := selectConfigured(c)
	if err != nil {
		return Overview{}, err
	}
	s := &Set{config: c, toolsets: selected, registry: newRegistry()}
	for _, t := range s.builtins() {
		if err := s.registry.register(t, false); err != nil {
			return Overview{}, err
		}
	}
	o := s.survey(func(*entry) bool { return true })
	if c.Home != "" {
		o.note(MissingSkills(context.Background(), c.Home, c.Skills))
	}
	return o, nil
}

// Overview tells what this set offers now.
func (s *Set) Overview() Overview {
	o := s.survey(s.available)
	o.Served = true
	o.Approvals = s.memory.approvals.List()
	o.note(s.missingSkills(s.stopped))
	return o
}

func (o *Overview) note(text string) {
	if text != "" {
		o.Notes = append(o.Notes, text)
	}
}

func (s *Set) survey(available func(*entry) bool) Overview {
	o := Overview{Approvals: []Approval{}}
	byToolset := map[string][]ToolInfo{}
	for _, e := range s.registry.selected(func(*entry) bool { return true }) {
		t := ToolInfo{Name: e.Name, Toolset: e.Toolset, Description: firstSentence(e.Description), Approval: e.approval()}
		t.State, t.Why = s.state(e, available)
		o.Tools = append(o.Tools, t)
		byToolset[e.Toolset] = append(byToolset[e.Toolset], t)
	}
	sets := catalogue()
	for _, name := range s.toolsets.names()[len(sets):] {
		c := s.toolsets.custom[name]
		sets = append(sets, Toolset{Name: name, Description: c.Description, Includes: c.Includes, Tools: c.Tools})
	}
	for name := range byToolset {
		if _, known := findToolset(name); !known {
			sets = append(sets, Toolset{Name: name, Description: "Tools of an MCP server or a plugin."})
		}
	}
	slices.SortFunc(sets, func(a, b Toolset) int { return strings.Compare(a.Name, b.Name) })
	for _, t := range sets {
		o.Toolsets = append(o.Toolsets, s.toolsetInfo(t, s.members(t, o.Tools)))
	}
	return o
}

// members are the tools a toolset stands for.
func (s *Set) members(t Toolset, all []ToolInfo) []ToolInfo {
	sets, single := map[string]bool{t.Name: true}, map[string]bool{}
	if t.composite() {
		_ = s.toolsets.take("", t.Name, sets, single) // its names have been checked
	}
	var out []ToolInfo
	for _, tool := range all {
		if sets[tool.Toolset] || single[tool.Name] {
			out = append(out, tool)
		}
	}
	return out
}

// toolsetInfo sums up: a toolset is on when all of its tools are, partly when some are, and unavailable when none is and
// one would be if it could work.
//
// Implements T10: with any tool on it is available.
func (s *Set) toolsetInfo(t Toolset, members []ToolInfo) ToolsetInfo {
	info := ToolsetInfo{Name: t.Name, Description: t.Description, OptIn: t.OptIn, State: StateOff}
	for _, tool := range members {
		info.Tools = append(info.Tools, tool.Name)
		if tool.State == StateOn {
			info.On = append(info.On, tool.Name)
		}
	}
	any := func(want State) bool {
		return slices.ContainsFunc(members, func(m ToolInfo) bool { return m.State == want })
	}
	switch {
	case len(members) > 0 && len(info.On) == len(members):
		info.State = StateOn
	case len(info.On) > 0:
		info.State, info.Why = StatePartly, without(members)
	case any(StateUnavailable):
		first := slices.IndexFunc(members, func(m ToolInfo) bool { return m.State == StateUnavailable })
		info.State, info.Why = StateUnavailable, members[first].Why
	case len(members) > 0:
		info.Why = members[0].Why
	case s.toolsets.enabled(t.Name, ""):
		info.State, info.Why = StateUnavailable, "this version has no tools for it"
	default:
		info.Why = s.whyOff(t.Name, "")
	}
	return info
}

// maxNamed bounds the tools that a toolset's reason names; each tool has its own.
const maxNamed = 3

// without lists the members that are not on, by what keeps them from it.
func without(members []ToolInfo) string {
	var reasons []string
	byReason := map[string][]string{}
	for _, m := range members {
		if m.State == StateOn {
			continue
		}
		if byReason[m.Why] == nil {
			reasons = append(reasons, m.Why)
		}
		byReason[m.Why] = append(byReason[m.Why], m.Name)
	}
	for i, why := range reasons {
		names, more := byReason[why], ""
		if over := len(names) - maxNamed; over > 1 {
			names, more = names[:maxNamed], fmt.Sprintf(" and %d more", over)
		}
		reasons[i] = "without " + strings.Join(names, ", ") + more + ": " + why
	}
	return strings.Join(reasons, "; ")
}

func (s *Set) state(e *entry, available func(*entry) bool) (State, string) {
	switch {
	case !s.toolsets.enabled(e.Toolset, e.Name):
		return StateOff, s.whyOff(e.Toolset, e.Name)
	case !available(e):
		why := e.Missing
		if why == "" {
			why = "its check says that it cannot work now"
		}
		return StateUnavailable, why
	}
	return StateOn, ""
}

func (s *Set) whyOff(toolset, tool string) string {
	switch t, _ := findToolset(toolset); {
	case s.toolsets.off[toolset] || s.toolsets.toolsOff[tool]:
		return "disabled by disabledToolsets"
	case t.OptIn && s.toolsets.all:
		return "opt-in: name it in toolsets"
	}
	return "not named in toolsets"
}

func (e *entry) approval() string {
	switch {
	case e.Approval != "":
		return e.Approval
	case e.Plan == nil:
		return ApprovalPerTool
	}
	return ApprovalNone
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	if i := strings.Index(s, ": "); i >= 0 {
		return s[:i] + "."
	}
	return s
}
