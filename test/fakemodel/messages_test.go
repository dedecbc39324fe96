package fakemodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/test/fakemodel"
)

// independentMessages is a client of the messages dialect that is not ours.
func independentMessages(t *testing.T, key string) (*fakemodel.Server, anthropic.Client) {
	t.Helper()
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(s.MessagesURL()), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func messageParams(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{Model: "fake-1", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))}}
}

func TestMessagesStreamIsTheRealProtocol(t *testing.T) {
	s, c := independentMessages(t, "k")
	turn := fakemodel.Turn{
		Text: "héllo wörld, this is streamed", Reasoning: "hm, let me see", Signature: "SIG",
		Native:    []json.RawMessage{json.RawMessage(`{"type":"redacted_thinking","data":"XYZ"}`)},
		ToolCalls: []fakemodel.ToolCall{{ID: "a", Name: "list_dir", Arguments: `{"path":"."}`}, {ID: "b", Name: "read_file", Arguments: `{"path":"README.md"}`}},
		Usage:     fakemodel.Usage{Prompt: 30, Completion: 7, Cached: 5, CacheWrite: 4}, Fault: fakemodel.Fault{ByteByByte: true},
	}
	check := func(m anthropic.Message) {
		t.Helper()
		if len(m.Content) != 5 || m.Content[0].Thinking != "hm, let me see" || m.Content[0].Signature != "SIG" || m.Content[1].Data != "XYZ" ||
			m.Content[2].Text != "héllo wörld, this is streamed" || m.Content[3].Name != "list_dir" || string(m.Content[4].Input) != `{"path":"README.md"}` {
			t.Errorf("got %s", m.RawJSON())
		}
		if m.StopReason != anthropic.StopReasonToolUse || m.Usage.InputTokens != 21 || m.Usage.OutputTokens != 7 || m.Usage.CacheReadInputTokens != 5 || m.Usage.CacheCreationInputTokens != 4 {
			t.Errorf("stop %s usage %+v", m.StopReason, m.Usage)
		}
	}
	s.Script(turn, turn)
	st := c.Messages.NewStreaming(context.Background(), messageParams("hi"))
	defer st.Close()
	var acc anthropic.Message
	for st.Next() {
		if err := acc.Accumulate(st.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Err(); err != nil {
		t.Fatal(err)
	}
	check(acc)
	whole, err := c.Messages.New(context.Background(), messageParams("hi"))
	if err != nil {
		t.Fatal(err)
	}
	check(*whole)
	if r := s.Requests(); len(r) != 2 || r[0].Key != "k" || !r[0].Parsed.Stream || r[1].Parsed.Stream {
		t.Fatalf("recorded %+v", r)
	}
}

func TestMessagesErrors(t *testing.T) {
	s, c := independentMessages(t, "old")
	s.AllowKeys("new")
	_, err := c.Messages.New(context.Background(), messageParams("x"))
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != 401 || e.Type() != "authentication_error" {
		t.Fatalf("a key that is not allowed: %v", err)
	}
	s.AllowKeys()
	s.Script(fakemodel.Turn{Text: "x", Fault: fakemodel.Fault{StreamError: true, Type: "overloaded_error"}})
	st := c.Messages.NewStreaming(context.Background(), messageParams("hi"))
	defer st.Close()
	for st.Next() {
	}
	if st.Err() == nil {
		t.Fatal("an error in the stream went unseen")
	}
}

// TestRequestsAreTheRealProtocol: what our client sends survives the types of the official one: nothing of it is
// unknown to them, and nothing is of another shape.
func TestRequestsAreTheRealProtocol(t *testing.T) {
	s, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rt, err := llm.NewRoute(llm.ProviderAnthropic, s.MessagesURL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := llm.NewClient(llm.Options{Route: rt, Keys: llm.StaticKeys("k")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	temperature := 0.5
	r := llm.Request{
		Model: "claude-x", CacheTTL: llm.Cache1h, StaticPrefix: "who I am. ", Temperature: &temperature, NoThinking: true,
		Messages: []llm.Message{{Role: llm.RoleSystem, Content: "who I am. And where."}, {Role: llm.RoleUser, Content: "hi"}},
		Tools: []llm.ToolDefinition{{Name: "list_dir", Description: "lists", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []any{"path"}}}},
	}
	s.Script(fakemodel.Turn{Text: "look", Reasoning: "hm", Signature: "SIG", Native: []json.RawMessage{json.RawMessage(`{"type":"redacted_thinking","data":"XYZ"}`)},
		ToolCalls: []fakemodel.ToolCall{{ID: "a", Name: "list_dir", Arguments: `{"path":"."}`}, {ID: "b", Name: "list_dir", Arguments: `{"path":"/"}`}}})
	got, err := c.Stream(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, got.Message, llm.Message{Role: llm.RoleTool, ToolCallID: "a", Content: "1"},
		llm.Message{Role: llm.RoleTool, ToolCallID: "b", Content: "2"}, llm.Message{Role: llm.RoleUser, Content: "and?"})
	if _, err := c.Stream(context.Background(), r, nil); err != nil {
		t.Fatal(err)
	}
	for i, req := range s.Requests() {
		var params anthropic.MessageNewParams
		if err := json.Unmarshal(req.Body, &params); err != nil {
			t.Fatalf("request %d: %v\n%s", i, err, req.Body)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs map[string]any
		_, _ = json.Unmarshal(req.Body, &ours), json.Unmarshal(again, &theirs)
		delete(ours, "stream") // the official client adds it beside the parameters
		stringResults(ours)
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("request %d:\n%s\nis to the official types\n%s", i, req.Body, again)
		}
	}
}

// stringResults gives tool results the list form, of which a string is short for.
func stringResults(v any) {
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v["content"].(string); ok && v["type"] == "tool_result" {
			v["content"] = []any{map[string]any{"type": "text", "text": s}}
		}
		for _, e := range v {
			stringResults(e)
		}
	case []any:
		for _, e := range v {
			stringResults(e)
		}
	}
}
