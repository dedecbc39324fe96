package tools

import (
	"slices"
	"strings"
)

// State says whether a tool or a toolset can be used.
type State string

// The states of a tool or a toolset.
const (
	StateOn State = "on"
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
	Name        string   `json:"name"`
	Description string   `json:"description"`
	State       State    `json:"state"`
	Why         string   `json:"why,omitempty"`
	OptIn       bool     `json:"opt_in,omitempty"`
	Tools       []string `json:"tools,omitempty"`
}

// Overview is what a profile's agent may use, what not, and why.
type Overview struct {
	Toolsets []ToolsetInfo `json:"toolsets"`
	Tools    []ToolInfo    `json:"tools"`
	// Approvals are the decisions that were given for always; they can be revoked.
	Approvals []Approval `json:"approvals"`
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
	return s.survey(func(*entry) bool { return true }), nil
}

// Overview tells what this set offers now.
func (s *Set) Overview() Overview {
	o := s.survey(s.available)
	o.Served = true
	o.Approvals = s.memory.approvals.List()
	return o
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

// toolsetInfo sums up: a toolset is on when any of its tools is.
//
// Implements T10.
func (s *Set) toolsetInfo(t Toolset, members []ToolInfo) ToolsetInfo {
	info := ToolsetInfo{Name: t.Name, Description: t.Description, OptIn: t.OptIn, State: StateOff}
	for _, tool := range members {
		info.Tools = append(info.Tools, tool.Name)
	}
	any := func(want State) bool {
		return slices.ContainsFunc(members, func(m ToolInfo) bool { return m.State == want })
	}
	switch {
	case any(StateOn):
		info.State = StateOn
	case any(StateUnavailable):
		info.State, info.Why = StateUnavailable, members[0].Why
	case len(members) > 0:
		info.Why = members[0].Why
	case s.toolsets.enabled(t.Name, ""):
		info.State, info.Why = StateUnavailable, "this version has no tools for it"
	default:
		info.Why = s.whyOff(t.Name, "")
	}
	return info
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
