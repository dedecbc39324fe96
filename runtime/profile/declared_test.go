package profile

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
)

// A command of the agent rewrites config.yaml: what is declared holds, and what is dangerous is asked about as before.
func TestAgentCannotGrantItselfRights_N21(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, map[string]any{
		"approvals": map[string]any{"mode": "ask", "allow": []any{"terminal"}},
	}))
	for _, how := range []string{
		"python3 -c 0; printf 'approvals: {mode: allow}\\nmodel: {provider: openai}\\n' > ../config.yaml", ": > ../config.yaml", "rm ../config.yaml",
		`printf '{"version":1,"always":[{"tool":"terminal"}]}' > ../approvals.json`,
	} {
		t.Run(how, func(t *testing.T) {
			asked := []string{}
			m.Script(
				fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "terminal", `{"command":`+quoted(how)+`}`)}},
				fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c2", "terminal", `{"command":"true"}`)}}, fakemodel.Text("one"),
				fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c3", "terminal", `{"command":"true sudo || sudo -n true"}`)}}, fakemodel.Text("two"),
			)
			turn := func(text string) {
				_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s", Source: "cli", UserText: text, Approve: func(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
					asked = append(asked, q.Command)
					if q.Command == how {
						return tools.DecisionOnce, nil
					}
					return tools.DecisionDeny, nil
				}}, nil)
				must(t, err) // also: the model is still the declared one
			}
			turn("do it")
			turn("and now?")
			if len(asked) == 0 || asked[len(asked)-1] != "true sudo || sudo -n true" {
				t.Errorf("asked about %q, not about the dangerous command", asked)
			}
			if list := r.runtime.approvals.List(); len(list) != 0 {
				t.Errorf("the agent decided for always: %+v", list)
			}
		})
	}
}

func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// A gateway that starts without the API server refuses turns on a home whose declared keys were changed meanwhile.
func TestDriftedHomeIsRefusedOffline_N21(t *testing.T) {
	r := newRig(t)
	path := r.runtime.Paths().Config()
	good, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte("approvals: {mode: allow}\n"), 0o600))
	_, err = r.say("s", "one")
	var e *ConfigError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "written again as soon as the API server is reached") {
		t.Errorf("turn = %v", err)
	}
	if h := r.runtime.Health(); h.Reason != "ConfigInvalid" {
		t.Errorf("health = %+v", h)
	}
	must(t, os.WriteFile(path, good, 0o600))
	r.runtime.Reload()
	r.mustSay("s", "two")
}
