package tools

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the toolsets this package provides.
const (
	toolsetFile     = "file"
	toolsetTerminal = "terminal"
	// mcpToolsetPrefix marks toolsets of MCP servers, which register after the
	// configuration has been read (T16).
	mcpToolsetPrefix = "mcp-"
)

func knownToolsets() []string { return []string{toolsetFile, toolsetTerminal} }

// selection decides which toolsets are on.
type selection struct {
	all     bool
	on, off map[string]bool
}

// selectToolsets reads the two configuration lists. An unknown name is an
// error that names it and lists the known ones.
//
// Implements T12, T13 for the toolsets of this package.
func selectToolsets(want, disabled []string) (selection, error) {
	s := selection{all: len(want) == 0, on: map[string]bool{}, off: map[string]bool{}}
	for _, name := range want {
		if name == "all" || name == "*" {
			s.all = true
			continue
		}
		if err := checkToolset("toolsets", name); err != nil {
			return selection{}, err
		}
		s.on[name] = true
	}
	for _, name := range disabled {
		if err := checkToolset("disabledToolsets", name); err != nil {
			return selection{}, err
		}
		s.off[name] = true
	}
	return s, nil
}

// CheckSelection says what is wrong with the two configuration lists and an allow list, without making a Set: so that
// a mistake in them can be shown before the first turn.
func CheckSelection(toolsets, disabled, allow []string) error {
	if _, err := selectToolsets(toolsets, disabled); err != nil {
		return err
	}
	_, err := ParseRules(allow)
	return err
}

func checkToolset(field, name string) error {
	if slices.Contains(knownToolsets(), name) || (strings.HasPrefix(name, mcpToolsetPrefix) && len(name) > len(mcpToolsetPrefix)) {
		return nil
	}
	return fmt.Errorf("%s: unknown toolset %q; known toolsets are %s, and mcp-<server> for an MCP server", field, name, strings.Join(knownToolsets(), ", "))
}

func (s selection) enabled(toolset string) bool {
	return !s.off[toolset] && (s.all || s.on[toolset])
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
	case "cronjob":
		return "cronjob_manage"
	case "todo":
		return "todo_list"
	case "process":
		return "process_manage"
	}
	return ""
}
