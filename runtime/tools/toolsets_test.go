package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// T12, T13: selection of toolsets.
func TestT12Toolsets(t *testing.T) {
	all := "clarify list_dir memory patch process_manage read_file search_files skill_manage skill_view skills_list terminal todo_list web_fetch write_file"
	tests := []struct {
		on, off   []string
		want, err string
	}{
		{nil, nil, all, ""},
		{[]string{"all"}, nil, all, ""},
		{[]string{"*"}, []string{"terminal"}, "clarify list_dir memory patch read_file search_files skill_manage skill_view skills_list todo_list web_fetch write_file", ""},
		{[]string{"file"}, nil, "list_dir patch read_file search_files write_file", ""},
		{[]string{"terminal"}, nil, "process_manage terminal", ""},
		{[]string{"terminal"}, []string{"terminal"}, "", ""},
		{[]string{"mcp-x"}, nil, "", ""},
		{[]string{"flie"}, nil, "", `toolsets: unknown toolset "flie"; known toolsets are browser, clarify, `},
		{nil, []string{"wbe"}, "", `disabledToolsets: unknown toolset "wbe"`},
		{[]string{"browser"}, []string{"kanban"}, "", ""},
		{[]string{"debugging"}, []string{"terminal"}, "list_dir patch read_file search_files web_fetch write_file", ""},
		{[]string{"safe"}, nil, "clarify list_dir read_file search_files skill_view skills_list todo_list web_fetch", ""},
		{nil, []string{"coding"}, "memory", ""},
		{[]string{"hermes-webhook"}, nil, "clarify web_fetch", ""},
		{[]string{"hermes-slack"}, []string{"file", "skills", "web"}, "clarify memory process_manage terminal todo_list", ""},
		{[]string{"hermes-"}, nil, "", `unknown toolset "hermes-"`},
		{[]string{"mcp-"}, nil, "", `unknown toolset "mcp-"`},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		s, err := NewSet(Config{Workspace: dir, Home: dir, Toolsets: tt.on, DisabledToolsets: tt.off})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v: %v, want %q", tt.on, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(s), " "); got != tt.want {
			t.Errorf("%v without %v = %s, want %s", tt.on, tt.off, got, tt.want)
		}
	}
	s := newTestSet(t, func(c *Config) { c.DisabledToolsets = []string{"terminal"} })
	refused(t, s, "terminal", sh("true"), "there is no tool")
}

// T13: "all" does not enable opt-in sets; naming one does, and a disabled one stays off.
func TestT13OptIn(t *testing.T) {
	board := Tool{Definition: Definition{Name: "board_move", Description: "Move a card.", Parameters: object(nil)}, Toolset: "kanban", Handler: okHandler}
	for _, tt := range []struct {
		on, off []string
		want    State
		why     string
	}{
		{nil, nil, StateOff, "opt-in"},
		{[]string{"all"}, nil, StateOff, "opt-in"},
		{[]string{"*"}, nil, StateOff, "opt-in"},
		{[]string{"all", "kanban"}, nil, StateOn, ""},
		{[]string{"kanban"}, nil, StateOn, ""},
		{[]string{"kanban"}, []string{"kanban"}, StateOff, "disabledToolsets"},
		{[]string{"file"}, nil, StateOff, "not named"},
	} {
		s := newTestSet(t, func(c *Config) { c.Toolsets, c.DisabledToolsets = tt.on, tt.off })
		if err := s.Register(board, false); err != nil {
			t.Fatal(err)
		}
		o := s.Overview()
		got := findInfo(o.Tools, "board_move")
		if got.State != tt.want || !strings.Contains(got.Why, tt.why) || got.Approval != ApprovalPerTool {
			t.Errorf("%v without %v: %+v, want %s, %s", tt.on, tt.off, got, tt.want, tt.why)
		}
		if called := s.Run(t.Context(), "s", call("board_move", nil), nil); called.IsError == (tt.want == StateOn) {
			t.Errorf("%v without %v: calling it gives %+v", tt.on, tt.off, called)
		}
	}
}

func findInfo(list []ToolInfo, name string) ToolInfo {
	for _, t := range list {
		if t.Name == name {
			return t
		}
	}
	return ToolInfo{}
}

// T13: custom_toolsets.
func TestT13CustomToolsets(t *testing.T) {
	custom := map[string]CustomToolset{
		"mine":   {Description: "What I use.", Tools: []string{"read_file"}, Includes: []string{"inner"}},
		"inner":  {Includes: []string{"terminal", "mcp-x"}},
		"absent": {Tools: []string{"not_there_yet"}},
	}
	for _, tt := range []struct {
		on, off []string
		want    string
	}{
		{[]string{"mine"}, nil, "process_manage read_file terminal x_tool"},
		{[]string{"mine"}, []string{"inner"}, "read_file"},
		{[]string{"absent"}, nil, ""},
		{[]string{"file"}, []string{"mine"}, "list_dir patch search_files write_file"},
	} {
		s := newTestSet(t, func(c *Config) { c.Toolsets, c.DisabledToolsets, c.CustomToolsets = tt.on, tt.off, custom })
		if err := s.Register(Tool{Definition: Definition{Name: "x_tool", Parameters: object(nil)}, Toolset: "mcp-x", Handler: okHandler}, false); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names(s), " "); got != tt.want {
			t.Errorf("%v without %v = %q, want %q", tt.on, tt.off, got, tt.want)
		}
	}
	for want, bad := range map[string]map[string]CustomToolset{
		`"file" is the name of a toolset that exists`:      {"file": {Tools: []string{"x"}}},
		`"all" is the name`:                                {"all": {Tools: []string{"x"}}},
		`custom_toolsets.a: name its tools`:                {"a": {}},
		`custom_toolsets: a: unknown toolset "b"`:          {"a": {Includes: []string{"b"}}},
		`custom_toolsets.a includes itself by way of a, b`: {"a": {Includes: []string{"b"}}, "b": {Includes: []string{"a"}}},
		`"x y" is no name of a tool`:                       {"a": {Tools: []string{"x y"}}},
		`the name "a b" must be`:                           {"a b": {Tools: []string{"x"}}},
	} {
		err := CheckSelection(Config{CustomToolsets: bad})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", bad, err, want)
		}
	}
}

// Every toolset of the catalogue can be selected and disabled, composite ones name only what exists, and tools name
// core toolsets of the catalogue (T1).
func TestT12CatalogueIsConsistent(t *testing.T) {
	before := ""
	for _, e := range catalogue() {
		if e.Name <= before || e.Description == "" {
			t.Errorf("%q comes after %q, description %q", e.Name, before, e.Description)
		}
		before = e.Name
		if err := CheckSelection(Config{Toolsets: []string{e.Name}, DisabledToolsets: []string{e.Name}}); err != nil {
			t.Error(err)
		}
	}
	s := newTestSet(t, nil)
	for _, b := range s.builtins() {
		if set, known := findToolset(b.Toolset); !known || set.composite() {
			t.Errorf("tool %s names toolset %q, which is no core toolset", b.Name, b.Toolset)
		}
	}
	for _, e := range catalogue() {
		for _, tool := range e.Tools {
			if _, ok := s.registry.lookup(tool); !ok {
				t.Errorf("toolset %s names tool %s, which is not there", e.Name, tool)
			}
		}
	}
}

// T10: a toolset is available when any of its tools is.
func TestT10ToolsetStates(t *testing.T) {
	works := false
	s := newTestSet(t, func(c *Config) { c.Toolsets = []string{"file", "mcp-x", "browser"} })
	for _, name := range []string{"x_one", "x_two"} {
		err := s.Register(Tool{Definition: Definition{Name: name, Parameters: object(nil)}, Toolset: "mcp-x", Handler: okHandler, Missing: "the server does not answer", UncachedCheck: true, Available: func() bool { return works && name == "x_two" }}, false)
		if err != nil {
			t.Fatal(err)
		}
	}
	state := func(name string) (State, string) {
		for _, e := range s.Overview().Toolsets {
			if e.Name == name {
				return e.State, e.Why
			}
		}
		return "", ""
	}
	for name, want := range map[string]string{"file": "on", "terminal": "off not named in toolsets", "mcp-x": "unavailable the server does not answer", "browser": "unavailable this version has no tools for it", "kanban": "off not named in toolsets", "coding": "partly without clarify, process_manage, session_search and 6 more: not named in toolsets"} {
		got, why := state(name)
		if strings.TrimSpace(string(got)+" "+why) != want {
			t.Errorf("%s is %s (%s), want %s", name, got, why, want)
		}
	}
	works = true
	if got, why := state("mcp-x"); got != StatePartly || why != "without x_one: the server does not answer" {
		t.Errorf("with one tool working mcp-x is %s (%s)", got, why)
	}
	offline, err := Survey(Config{Toolsets: []string{"file"}})
	if err != nil || offline.Served || findInfo(offline.Tools, "patch").State != StateOn || findInfo(offline.Tools, "terminal").State != StateOff {
		t.Errorf("Survey = %+v, %v", offline, err)
	}
}

// A decision for always outlives the set, shows, can be revoked, and is never given by a file
// that cannot be read.
func TestApprovalsForAlwaysAreKept(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ApprovalsFile)
	asked := 0
	run := func(s *Set) {
		t.Helper()
		r := s.Run(t.Context(), "s1", call("terminal", sh("true")), func(context.Context, ApprovalRequest) (Decision, error) {
			asked++
			return DecisionAlways, nil
		})
		if r.IsError {
			t.Fatal(r.Content)
		}
	}
	open := func() *Set {
		return newTestSet(t, func(c *Config) {
			c.Home, c.Workspace, c.Mode = home, home+"/workspace", ModeAsk
			c.Clock = clocktesting.NewFakeClock(time.Unix(1e9, 0))
		})
	}
	s := open()
	run(s)
	run(s)
	if list := s.Overview().Approvals; asked != 1 || len(list) != 1 || list[0].Tool != "terminal" || list[0].Subject != "true" || !list[0].At.Equal(time.Unix(1e9, 0)) {
		t.Fatalf("asked %d times, kept %+v", asked, list)
	}
	if modeOf(t, path) != 0o600 {
		t.Errorf("mode %o", modeOf(t, path))
	}
	refused(t, newTestSet(t, func(c *Config) { c.Home, c.Workspace, c.Roots = home, home+"/workspace", []string{home} }), "write_file", map[string]any{"path": path, "content": "{}"}, "decides what this agent may do")
	s = open()
	run(s)
	if asked != 1 {
		t.Error("a new set asks again")
	}
	if ok, err := s.config.Approvals.Revoke("nothing"); ok || err != nil {
		t.Errorf("revoking nothing = %v, %v", ok, err)
	}
	if ok, err := s.config.Approvals.Revoke(s.config.Approvals.List()[0].ID); !ok || err != nil {
		t.Errorf("Revoke = %v, %v", ok, err)
	}
	run(s)
	if asked != 2 {
		t.Error("a revoked decision still allows")
	}
	if err := os.WriteFile(path, []byte("{}  \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	run(s)
	if asked != 3 || readBack(t, path) != "{}  \n" {
		t.Errorf("asked %d times; a file that cannot be read must allow nothing and stay: %q", asked, readBack(t, path))
	}
	run(s)
	if asked != 3 {
		t.Error("a decision that could not be kept must hold for the session")
	}
	// What is written beside the gateway decides nothing, and goes with the next decision.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = open()
	if list := s.Overview().Approvals; len(list) != 0 {
		t.Errorf("after the file was removed: %+v", list)
	}
	if err := os.WriteFile(path, []byte(`{"version":1,"always":[{"tool":"terminal","subject":"true"},{"tool":"write_file"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(s)
	if list := s.Overview().Approvals; asked != 4 || len(list) != 1 || strings.Contains(readBack(t, path), "write_file") {
		t.Errorf("a file written by somebody else decides: asked %d times, %+v, %s", asked, list, readBack(t, path))
	}
}
