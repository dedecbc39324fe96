package tools

import (
	"os"
	"strings"
	"testing"
)

// What docs/approvals.md warns of is what the rules do: a page that warned of too much or too little would be wrong.
func TestGlobsAllowWhatTheDocumentationWarnsOf(t *testing.T) {
	page, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	for command, rule := range map[string]string{
		"git -c alias.x='!CMD' x": "terminal:git *", "git -c core.pager=CMD log": "terminal:git *", "find . -exec CMD {} +": "terminal:find *",
	} {
		rules, err := ParseRules([]string{rule})
		if err != nil {
			t.Fatal(err)
		}
		if !rules[0].Matches("terminal", command) {
			t.Errorf("%s does not allow %q any more: take it out of the page", rule, command)
		}
		if !strings.Contains(string(page), command) || !strings.Contains(string(page), rule) {
			t.Errorf("the page does not warn that %s allows %q", rule, command)
		}
	}
}
