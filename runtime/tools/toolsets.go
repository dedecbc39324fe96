package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CustomToolset is a toolset that the configuration defines (custom_toolsets).
type CustomToolset struct {
	Description string
	// Tools by name, and Includes, other toolsets.
	Tools, Includes []string
}

// selection decides which tools are on. Composite toolsets have been taken apart: it names core toolsets, toolsets of
// MCP servers, and single tools.
type selection struct {
	all               bool
	on, off           map[string]bool
	toolsOn, toolsOff map[string]bool
	custom            map[string]CustomToolset
	// servers are the MCP servers by name; the bare name stands for the server's toolset (T16).
	servers map[string]bool
}

func selectConfigured(c Config) (selection, error) {
	return selectToolsets(c.Toolsets, c.DisabledToolsets, c.CustomToolsets, c.Servers...)
}

// selectToolsets reads the configuration. An unknown name is an error that says where it is and what is known.
//
// Implements T12, T13.
func selectToolsets(want, disabled []string, custom map[string]CustomToolset, servers ...string) (selection, error) {
	s := selection{
		all: len(want) == 0, on: map[string]bool{}, off: map[string]bool{},
		toolsOn: map[string]bool{}, toolsOff: map[string]bool{}, custom: custom, servers: map[string]bool{},
	}
	for _, name := range servers {
		s.servers[name] = true
	}
	if err := s.checkCustom(); err != nil {
		return selection{}, err
	}
	for _, name := range want {
		if name == "all" || name == "*" {
			s.all = true
			continue
		}
		if err := s.take("toolsets", name, s.on, s.toolsOn); err != nil {
			return selection{}, err
		}
	}
	for _, name := range disabled {
		if err := s.take("disabledToolsets", name, s.off, s.toolsOff); err != nil {
			return selection{}, err
		}
	}
	return s, nil
}

// checkCustom takes every custom toolset apart once, so that a mistake in one shows even when nothing selects it.
func (s selection) checkCustom() error {
	for _, name := range slices.Sorted(maps.Keys(s.custom)) {
		if !toolName.MatchString(name) {
			return fmt.Errorf("custom_toolsets: the name %q must be 1 to 64 letters, digits, '_' or '-'", name)
		}
		if _, taken := findToolset(name); taken || name == "all" || strings.HasPrefix(name, mcpToolsetPrefix) {
			return fmt.Errorf("custom_toolsets: %q is the name of a toolset that exists: choose another one", name)
		}
		c := s.custom[name]
		if len(c.Tools)+len(c.Includes) == 0 {
			return fmt.Errorf("custom_toolsets.%s: name its tools or the toolsets it includes", name)
		}
		for _, tool := range c.Tools {
			if !toolName.MatchString(tool) {
				return fmt.Errorf("custom_toolsets.%s.tools: %q is no name of a tool", name, tool)
			}
		}
		if err := s.take("custom_toolsets", name, map[string]bool{}, map[string]bool{}); err != nil {
			return err
		}
	}
	return nil
}

// take adds a toolset, or what it stands for.
func (s selection) take(field, name string, sets, single map[string]bool) error {
	return s.expand(field, name, sets, single, nil)
}

func (s selection) expand(field, name string, sets, single map[string]bool, path []string) error {
	if slices.Contains(path, name) {
		return fmt.Errorf("custom_toolsets.%s includes itself by way of %s", name, strings.Join(path, ", "))
	}
	t, known := findToolset(name)
	if c, ok := s.custom[name]; ok && !known {
		t, known = Toolset{Name: name, Includes: c.Includes, Tools: c.Tools}, true
	}
	if s.servers[name] {
		// The alias of a server; one named like another toolset adds to it.
		sets[ServerToolset(name)] = true
		if !known {
			return nil
		}
	}
	switch {
	case strings.HasPrefix(name, mcpToolsetPrefix) && len(name) > len(mcpToolsetPrefix):
		sets[name] = true
		return nil
	case !known:
		return fmt.Errorf("%s: unknown toolset %q; known toolsets are %s, and mcp-<server> for an MCP server", strings.Join(append([]string{field}, path...), ": "), name, strings.Join(s.names(), ", "))
	case !t.composite():
		sets[name] = true
		return nil
	}
	for _, tool := range t.Tools {
		single[tool] = true
	}
	for _, other := range t.Includes {
		if err := s.expand(field, other, sets, single, append(slices.Clone(path), name)); err != nil {
			return err
		}
	}
	return nil
}

// names lists the toolsets that can be named.
func (s selection) names() []string {
	var out []string
	for _, t := range catalogue() {
		out = append(out, t.Name)
	}
	return append(out, slices.Sorted(maps.Keys(s.custom))...)
}

// CheckSelection says what is wrong with the toolsets and the allow list of a configuration, without making a Set: so
// that a mistake in them can be shown before the first turn.
func CheckSelection(c Config) error {
	if _, err := selectConfigured(c); err != nil {
		return err
	}
	if _, err := parseReach(c.Web.AllowPrivate); err != nil {
		return err
	}
	_, err := ParseRules(c.Allow)
	return err
}

// enabled reports whether the configuration selects a tool. What is disabled stays off, whatever selects it.
func (s selection) enabled(toolset, tool string) bool {
	if s.off[toolset] || s.toolsOff[tool] {
		return false
	}
	if s.on[toolset] || s.toolsOn[tool] {
		return true
	}
	t, _ := findToolset(toolset)
	return s.all && !t.OptIn
}

// renamedTo gives the present name of a tool that models know by an older or
// a foreign name, or "".
//
// Implements T14.
func renamedTo(name string) string {
	switch name {
	case "bash", "shell", "execute_command", "run_command":
		return "terminal"
	case "cat", "view_file":
		return "read_file"
	case "ls", "list_directory", "list_files":
		return "list_dir"
	case "create_file":
		return "write_file"
	case "apply_patch", "edit_file", "str_replace":
		return "patch"
	case "grep", "glob", "find_files":
		return "search_files"
	case "cronjob":
		return "cronjob_manage"
	case "todo", "todo_write":
		return "todo_list"
	case "process":
		return "process_manage"
	case "web_extract", "fetch", "fetch_url":
		return "web_fetch"
	}
	return ""
}
