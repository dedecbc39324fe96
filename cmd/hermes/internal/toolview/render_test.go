package toolview

import (
	"os"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/tools"
)

func TestRender(t *testing.T) {
	o, err := tools.Survey(tools.Config{Toolsets: []string{"file", "kanban"}, DisabledToolsets: []string{"web"}})
	if err != nil {
		t.Fatal(err)
	}
	o.Approvals = []tools.Approval{{ID: "ab12", Tool: "terminal", Subject: "make\x1b[2J", At: time.Unix(0, 0).UTC()}}
	o.Servers = []tools.ServerInfo{{Name: "git", State: "connected", Tools: 3}, {Name: "web", State: "lost", Why: "no answer\x1b[2J", Notes: []string{"tool x has no schema"}}}
	got := Render(o, false)
	for _, want := range []string{
		"file            on     list_dir patch read_file search_files write_file",
		"web             off    web_fetch",
		"disabled by disabledToolsets", "not named in toolsets", "toolsets have no tools here; --all shows them",
		"MCP SERVER  STATE      TOOLS  NEXT ATTEMPT  WHY\ngit         connected  3\nweb         lost       0                    no answer·[2J; tool x has no schema\n",
		"ALLOWED ALWAYS  TOOL      SINCE       WHAT\nab12            terminal  1970-01-01  make·[2J\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "kanban") || strings.Contains(got, " \n") {
		t.Errorf("a toolset without tools, or a blank at the end:\n%s", got)
	}
	if all := Render(o, true); !strings.Contains(all, "kanban") || !strings.Contains(all, "this version has no tools for it") {
		t.Errorf("with all:\n%s", all)
	}
	for name, want := range map[string]string{"patch": "Approval:  asked; covers this tool", "file": "read_file     on     not asked", "web": "off (disabled by disabledToolsets)"} {
		if text, ok := RenderOne(o, name); !ok || !strings.Contains(text, want) {
			t.Errorf("%s: %q is not in\n%s", name, want, text)
		}
	}
	if _, ok := RenderOne(o, "nothing"); ok {
		t.Error("there is no such tool")
	}
}

// docs/tools.md names every tool with its toolset and what a person is asked, and nothing else.
func TestToolsPage(t *testing.T) {
	raw, err := os.ReadFile("../../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	o, err := tools.Survey(tools.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		if strings.HasPrefix(line, "| `") && strings.Count(line, "|") == 5 {
			rows++
		}
	}
	for _, tool := range o.Tools {
		want := "| `" + tool.Name + "` | " + tool.Toolset + " | " + approval(tool.Approval) + " |"
		if !strings.Contains(string(raw), want) {
			t.Errorf("docs/tools.md has no row %q", want)
		}
	}
	if rows != len(o.Tools) {
		t.Errorf("docs/tools.md has %d rows for %d tools", rows, len(o.Tools))
	}
	for _, set := range o.Toolsets {
		if !strings.Contains(string(raw), "`"+set.Name+"`") {
			t.Errorf("docs/tools.md does not name toolset %s", set.Name)
		}
	}
}
