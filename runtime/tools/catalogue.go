package tools

import "strings"

// Names of the toolsets this package provides tools for.
const (
	toolsetFile          = "file"
	toolsetTerminal      = "terminal"
	toolsetMemory        = "memory"
	toolsetTodo          = "todo"
	toolsetSessionSearch = "session_search"
	toolsetClarify       = "clarify"
	toolsetSkills        = "skills"
	toolsetWeb           = "web"
	// mcpToolsetPrefix marks toolsets of MCP servers, which register after the
	// configuration has been read (T16).
	mcpToolsetPrefix = "mcp-"
	// platformPrefix marks toolsets that name a place where the agent is talked with.
	platformPrefix = "hermes-"
)

// Toolset is a named group of tools. A core toolset has the tools that name it; a composite one lists what it stands
// for.
//
// Implements T12.
type Toolset struct {
	Name, Description string
	// OptIn toolsets are not selected by "all", "*" or an empty list; they have to be named (T13).
	OptIn bool
	// Includes and Tools make a composite toolset: other toolsets, and single tools.
	Includes, Tools []string
}

func (t Toolset) composite() bool { return len(t.Includes)+len(t.Tools) > 0 }

// catalogue lists every toolset by name. Those without tools in this version are known all the same, so that a
// configuration that names them is understood; Survey says which they are.
func catalogue() []Toolset { // a table
	everyday := []string{toolsetClarify, toolsetFile, toolsetMemory, toolsetSessionSearch, toolsetSkills, toolsetTerminal, toolsetTodo, toolsetWeb}
	return []Toolset{
		{Name: "browser", Description: "Drive a web browser."},
		{Name: toolsetClarify, Description: "Ask the person a question."},
		{Name: "code_execution", Description: "Run programs that call tools."},
		{Name: "coding", Description: "What working on code needs.", Includes: []string{toolsetClarify, toolsetFile, toolsetSessionSearch, toolsetSkills, toolsetTerminal, toolsetTodo, toolsetWeb}},
		{Name: "computer_use", Description: "See and operate a desktop.", OptIn: true},
		{Name: "connections", Description: "Accounts the person has connected."},
		{Name: "context_engine", Description: "Manage what is in the context."},
		{Name: toolsetCron, Description: "Schedule prompts."},
		{Name: "debugging", Description: "What finding a fault needs.", Includes: []string{toolsetFile, toolsetTerminal, toolsetWeb}},
		{Name: toolsetDelegation, Description: "Hand tasks to other agents."},
		{Name: "desktop_ui", Description: "Show things in the desktop application.", OptIn: true},
		{Name: toolsetFile, Description: "Read, search, write and edit files of the workspace."},
		{Name: "hermes-acp", Description: "What an agent offers to an editor.", Includes: []string{toolsetFile, toolsetMemory, toolsetSessionSearch, toolsetSkills, toolsetTerminal, toolsetTodo, toolsetWeb}},
		{Name: "hermes-cli", Description: "What an agent offers on a terminal.", Includes: everyday},
		{Name: "hermes-cron", Description: "What a scheduled prompt may use: nothing that waits for a person.", Includes: []string{toolsetFile, toolsetSessionSearch, toolsetSkills, toolsetTerminal, toolsetTodo, toolsetWeb}},
		{Name: "hermes-webhook", Description: "The reduced set for what comes from outside: it changes nothing.", Includes: []string{toolsetClarify, toolsetWeb}},
		{Name: "homeassistant", Description: "Operate a Home Assistant.", OptIn: true},
		{Name: "image_gen", Description: "Make pictures."},
		{Name: "kanban", Description: "Change the shared board.", OptIn: true},
		{Name: toolsetMemory, Description: "Keep notes across sessions."},
		{Name: "project", Description: "Manage projects.", OptIn: true},
		{Name: "safe", Description: "Reads and asks, changes nothing.", Includes: []string{toolsetClarify, toolsetSessionSearch, toolsetTodo, toolsetWeb}, Tools: []string{"list_dir", "read_file", "search_files", "skill_view", "skills_list"}},
		{Name: "search", Description: "Search the web."},
		{Name: toolsetSessionSearch, Description: "Search what was said in earlier sessions."},
		{Name: toolsetSkills, Description: "Find, read and write instructions for recurring work."},
		{Name: toolsetTerminal, Description: "Run commands, also in the background."},
		{Name: toolsetTodo, Description: "Keep a list of what is to do in a session."},
		{Name: "tts", Description: "Speak."},
		{Name: "video_gen", Description: "Make videos.", OptIn: true},
		{Name: "vision", Description: "Look at pictures."},
		{Name: toolsetWeb, Description: "Fetch pages of the web."},
	}
}

// findToolset finds a toolset of the catalogue. A platform without an entry of its own offers what a terminal does.
func findToolset(name string) (Toolset, bool) {
	cli := Toolset{}
	for _, t := range catalogue() {
		if t.Name == name {
			return t, true
		}
		if t.Name == "hermes-cli" {
			cli = t
		}
	}
	if platform, ok := strings.CutPrefix(name, platformPrefix); ok && platform != "" {
		return Toolset{Name: name, Description: "What an agent offers on " + platform + ".", Includes: cli.Includes}, true
	}
	return Toolset{}, false
}
