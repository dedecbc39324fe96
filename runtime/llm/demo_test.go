package llm

import (
	"context"
	"reflect"
	"strings"
	"testing"
)

func demoAsk(t *testing.T, tools []ToolDefinition, m ...Message) (Response, string) {
	t.Helper()
	var streamed strings.Builder
	r := Request{Model: DemoModel, Tools: tools, Messages: append([]Message{{Role: RoleSystem, Content: "s"}}, m...)}
	got, err := Demo{}.Stream(context.Background(), r, func(d Delta) { streamed.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Demo{}.Stream(context.Background(), r, nil)
	if !reflect.DeepEqual(got, again) {
		t.Error("the demo is not deterministic")
	}
	return got, streamed.String()
}

func TestDemo(t *testing.T) {
	user := func(s string) Message { return Message{Role: RoleUser, Content: s} }
	tools := []ToolDefinition{{Name: "list_dir"}, {Name: "terminal"}, {Name: "read_file"}, {Name: "write_file"}}

	first, streamed := demoAsk(t, tools, user("hello"))
	if !strings.Contains(first.Message.Content, "scripted demo, not a language model") || streamed != first.Message.Content {
		t.Errorf("first reply %q", first.Message.Content)
	}
	if first.Usage.Input == 0 || first.Usage.Output == 0 || first.Model != DemoModel {
		t.Errorf("usage %+v", first.Usage)
	}
	second, _ := demoAsk(t, tools, user("hello"), first.Message, user("hello"))
	if strings.Contains(second.Message.Content, "scripted demo") {
		t.Error("the notice is repeated")
	}
	for said, want := range map[string]ToolCall{
		"list files":              {Name: "list_dir", Arguments: `{"path":"."}`},
		"run date -u && ls":       {Name: "terminal", Arguments: `{"command":"date -u \u0026\u0026 ls"}`},
		"read file notes.md":      {Name: "read_file", Arguments: `{"path":"notes.md"}`},
		"Write file a.txt hi you": {Name: "write_file", Arguments: `{"content":"hi you","path":"a.txt"}`},
	} {
		r, _ := demoAsk(t, tools, user(said))
		if r.FinishReason != FinishToolCalls || len(r.Message.ToolCalls) != 1 || r.Message.ToolCalls[0].Name != want.Name || r.Message.ToolCalls[0].Arguments != want.Arguments {
			t.Errorf("%s: %+v", said, r)
			continue
		}
		done, _ := demoAsk(t, tools, user(said), r.Message, Message{Role: RoleTool, Content: "RESULT", ToolCallID: r.Message.ToolCalls[0].ID})
		if !strings.Contains(done.Message.Content, "RESULT") || !strings.Contains(done.Message.Content, "scripted demo") || len(done.Message.ToolCalls) != 0 {
			t.Errorf("%s: after the tool %+v", said, done.Message)
		}
	}
	if r, _ := demoAsk(t, nil, user("run date")); len(r.Message.ToolCalls) != 0 || !strings.Contains(r.Message.Content, `"terminal"`) {
		t.Errorf("without tools: %+v", r.Message)
	}
}

func TestEstimateTokens(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "abcd": 1, "abcde": 2, "你好": 2, "你a": 2, "éé": 1} {
		if got := EstimateTokens(s); got != want {
			t.Errorf("M8 %q: %d, want %d", s, got, want)
		}
	}
}
