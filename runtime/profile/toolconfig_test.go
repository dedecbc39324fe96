package profile

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/tools"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

// withConfig is a profile's home with more keys in its config.yaml.
func withConfig(m *fakemodel.Server, keys map[string]any) profilehome.Spec {
	s := profilehome.Model(m.URL(), "sk-alice")
	maps.Copy(s.Config, keys)
	return s
}

// toolResults lists what the tools of a session have answered.
func (r *rig) toolResults(session string) []string {
	r.t.Helper()
	_, rows, _, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	var out []string
	for _, m := range rows {
		if m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

// What a session notes is in the prompt of the next one, and not in its own, whose prompt stays as it was.
func TestMemoryIsInTheNextSessionsPrompt(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	m.Script(
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "memory", `{"action":"add","text":"likes green tea"}`)}},
		fakemodel.Turn{Text: "noted"}, fakemodel.Turn{Text: "again"}, fakemodel.Turn{Text: "next"},
	)
	r.mustSay("s1", "I like green tea")
	r.mustSay("s1", "and?")
	r.mustSay("s2", "hello")
	first, second := r.systemPromptOf("s1"), r.systemPromptOf("s2")
	if strings.Contains(first, "green tea") || !strings.Contains(second, "likes green tea") {
		t.Errorf("first prompt %q\nsecond prompt %q", first, second)
	}
}

func (r *rig) systemPromptOf(session string) string {
	r.t.Helper()
	s, _, ok, err := r.runtime.Session(ctx(r.t), session)
	must(r.t, err)
	if !ok {
		r.t.Fatalf("no session %s", session)
	}
	return s.SystemPrompt
}

// A background process survives the turn and a change of the tools, and ends with the profile.
func TestBackgroundProcessesBelongToTheProfile(t *testing.T) {
	m := startModel(t)
	root := t.TempDir()
	allow := map[string]any{"approvals": map[string]any{"mode": "allow"}}
	r := openRig(t, m, root, "alice", withConfig(m, allow))
	m.Script(
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "terminal", `{"command":"sleep 1000","background":true}`)}},
		fakemodel.Turn{Text: "started"}, fakemodel.Turn{Text: "later"},
	)
	r.mustSay("s1", "start it")
	allow["disabled_toolsets"] = []any{"web"}
	r.rewrite(withConfig(m, allow))
	r.runtime.Reload()
	r.mustSay("s1", "and now?")
	list := r.runtime.Processes()
	if len(list) != 1 || list[0].State != tools.ProcessRunning || list[0].Session != "s1" {
		t.Fatalf("after the turn and a new engine: %+v", list)
	}
	must(t, r.runtime.Close(ctx(t)))
	if got := r.runtime.Processes()[0]; got.State != tools.ProcessKilled {
		t.Errorf("after the profile was closed: %+v", got)
	}
}

// session_search finds what an earlier session said, and clarify asks the person of the turn.
func TestSearchAndClarifyThroughATurn(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	m.Script(
		fakemodel.Turn{Text: "The Kestrel plan is on Tuesday."},
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "session_search", `{"query":"plan kestrel"}`)}},
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c2", "clarify", `{"question":"Which day?","options":["Mon","Tue"]}`)}},
		fakemodel.Turn{Text: "done"},
	)
	r.mustSay("s1", "when is it?")
	_, err := r.runtime.Turn(ctx(t), agent.Turn{SessionID: "s2", Source: "cli", UserText: "what did you say?", Approve: func(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
		q.Question.Answer = q.Question.Options[1]
		return tools.DecisionOnce, nil
	}}, nil)
	must(t, err)
	got := r.toolResults("s2")
	if len(got) != 2 || !strings.Contains(got[0], "session s1") || !strings.Contains(got[0], "Kestrel plan is on Tuesday") || got[1] != "The person answers: Tue" {
		t.Errorf("results = %q", got)
	}
}

func TestToolsOverview(t *testing.T) {
	m := startModel(t)
	root := t.TempDir()
	r := openRig(t, m, root, "alice", withConfig(m, map[string]any{
		"toolsets": []any{"mine"}, "custom_toolsets": map[string]any{"mine": map[string]any{"tools": []any{"read_file"}, "includes": []any{"web"}}},
	}))
	served, err := r.runtime.Tools()
	must(t, err)
	offline, err := SurveyTools(r.runtime.Paths(), r.runtime.o.Clock)
	must(t, err)
	for _, o := range []tools.Overview{served, offline} {
		on := ""
		for _, tool := range o.Tools {
			if tool.State == tools.StateOn {
				on += tool.Name + " "
			}
		}
		if on != "read_file web_fetch " {
			t.Errorf("served %v: on = %s", o.Served, on)
		}
	}
	for want, keys := range map[string]map[string]any{
		"custom_toolsets.x: name its tools":       {"custom_toolsets": map[string]any{"x": map[string]any{}}},
		"custom_toolsets: ":                       {"custom_toolsets": []any{"x"}},
		"memory.user_char_limit is 0":             {"memory": map[string]any{"user_char_limit": 0}},
		"web.allow_private":                       {"web": map[string]any{"allow_private": []any{"http://x"}}},
		`toolsets: unknown toolset "no-such-one"`: {"toolsets": []any{"no-such-one"}},
	} {
		r.rewrite(withConfig(m, keys))
		r.runtime.Reload()
		if _, err := r.say("s1", "hello"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", keys, err, want)
		}
	}
}

// What the tools keep for a session goes with it.
func TestDeletedSessionsTakeTheirListsAlong(t *testing.T) {
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", withConfig(m, nil))
	list := `{"items":[{"text":"x","status":"pending"}]}`
	m.Script(fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "todo_list", list)}}, fakemodel.Turn{Text: "kept"})
	r.mustSay("s1", "keep it")
	dir := filepath.Join(r.runtime.Paths().Home, "sessions", "todo")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	_, err := r.runtime.DeleteSession(ctx(t), "s1", false)
	must(t, err)
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("after the session was deleted: %v, %v", files, err)
	}
}

// A file that the profile declares is not changed by the agent.
func TestDeclaredMemoryIsLeftAlone(t *testing.T) {
	m := startModel(t)
	s := withConfig(m, nil)
	s.Files = map[string]string{"memories/MEMORY.md": "declared note\n"}
	r := openRig(t, m, t.TempDir(), "alice", s)
	m.Script(
		fakemodel.Turn{ToolCalls: []fakemodel.ToolCall{call("c1", "memory", `{"action":"add","text":"mine"}`)}},
		fakemodel.Turn{Text: "no"},
	)
	r.mustSay("s1", "note it")
	if got := r.toolResults("s1"); len(got) != 1 || !strings.Contains(got[0], "declared in the profile") {
		t.Errorf("results = %q", got)
	}
	raw, err := os.ReadFile(filepath.Join(r.runtime.Paths().Home, "memories", "MEMORY.md"))
	if err != nil || string(raw) != "declared note\n" || !strings.Contains(r.systemPromptOf("s1"), "declared note") {
		t.Errorf("%q, %v", raw, err)
	}
}
