package llm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func route(t *testing.T, provider, base string) Route {
	t.Helper()
	rt, err := NewRoute(provider, base)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// TestMessagesEncode is the golden request: system in its own field, calls and the results of parallel calls as
// blocks, one user turn for all of them and what follows, arguments that are no object shown as what they are.
func TestMessagesEncode(t *testing.T) {
	r := Request{
		Model: "claude", CacheTTL: CacheOff,
		Tools: []ToolDefinition{{Name: "t", Description: "d", Parameters: map[string]any{"type": "object"}}, {Name: "bare"}},
		Messages: []Message{
			{Role: RoleSystem, Content: "be kind"}, {Role: RoleUser, Content: "hi"},
			{Role: RoleAssistant, Content: "I look", Reasoning: "private", ToolCalls: []ToolCall{
				{ID: "functions.t:0", Name: "t", Arguments: `{"a": 1}`}, {ID: "b", Name: "no such", Arguments: "{broken"}, {ID: "c", Name: "t"},
			}},
			{Role: RoleTool, ToolCallID: "functions.t:0", Content: "1"}, {Role: RoleTool, ToolCallID: "b", Content: ""}, {Role: RoleTool, ToolCallID: "c", Content: "3"},
			{Role: RoleUser, Content: "and now?"}, {Role: RoleAssistant}, {Role: RoleUser, Content: " "},
		},
	}
	want := `{"model":"claude","stream":true,"max_tokens":16384,` +
		`"tools":[{"name":"t","description":"d","input_schema":{"type":"object"}},{"name":"bare","input_schema":{"type":"object"}}],` +
		`"system":[{"type":"text","text":"be kind"}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"functions_t_0","name":"t","input":{"a":1}},` +
		`{"type":"tool_use","id":"b","name":"no_such","input":{"invalid_arguments":"{broken"}},{"type":"tool_use","id":"c","name":"t","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"functions_t_0","content":"1"},{"type":"tool_result","tool_use_id":"b"},` +
		`{"type":"tool_result","tool_use_id":"c","content":"3"},{"type":"text","text":"and now?"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"(no content)"}]},{"role":"user","content":[{"type":"text","text":"(no content)"}]}]}`
	b, err := encodeMessages(r, route(t, ProviderAnthropic, ""), rewrites{})
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, b, want)
	}
	t.Run("a history that begins with an answer", func(t *testing.T) {
		b, err := encodeMessages(Request{Messages: []Message{{Role: RoleAssistant, Content: "a"}}}, route(t, ProviderAnthropic, ""), rewrites{})
		if err != nil || !strings.Contains(string(b), `"messages":[{"role":"user"`) {
			t.Errorf("%s %v", b, err)
		}
	})
}

func TestMessagesEndpointAndKey(t *testing.T) {
	for _, c := range []struct {
		provider, base, key string
		path, apiKey, auth  string
	}{
		{ProviderAnthropic, "", "sk-ant-1", "/v1/messages", "sk-ant-1", ""},
		{"claude", "https://proxy.example/v1", "k", "/v1/messages", "k", ""},
		{ProviderCustom, "https://api.z.ai/api/anthropic", "k", "/api/anthropic/v1/messages", "k", "Bearer k"},
		{ProviderCustom, "https://api.z.ai/api/anthropic/v1/messages", "k", "/api/anthropic/v1/messages", "k", "Bearer k"},
		{ProviderCustom, "https://api.z.ai/api/anthropic/v1", "", "/api/anthropic/v1/messages", "", ""},
		{ProviderAnthropic, "", "sk-ant-oat01-x", "/v1/messages", "", "Bearer sk-ant-oat01-x"},
	} {
		rt, h := route(t, c.provider, c.base), http.Header{}
		rt.wire().authorize(h, c.key, rt)
		if got := rt.wire().endpoint(rt.url).Path; rt.Dialect != DialectMessages || got != c.path {
			t.Errorf("%s %s: %s %s", c.provider, c.base, rt.Dialect, got)
		}
		if h.Get("X-Api-Key") != c.apiKey || h.Get("Authorization") != c.auth || h.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("%s %s %s: %v", c.provider, c.base, c.key, h)
		}
	}
	if rt := route(t, ProviderCustom, "https://models.example.com/v1"); rt.Dialect != DialectChat {
		t.Errorf("an ordinary server speaks %s", rt.Dialect)
	}
}

// feed gives events to an assembler.
func feed(t *testing.T, events ...string) Response {
	t.Helper()
	a := &blocks{host: "api.anthropic.com"}
	for _, e := range events {
		if _, err := a.event("", []byte(e), func(Delta) {}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.response(true)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOpaqueBlocksGoBackVerbatim: thinking with its signature, redacted thinking and blocks of kinds we do not know go
// back where they were, byte for byte, to the host they came from and to no other.
func TestOpaqueBlocksGoBackVerbatim(t *testing.T) {
	redacted := `{"type":"redacted_thinking","data":"EmwKAhgB<&>"}`
	r := feed(t,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"yes"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG/+="}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"first"}}`,
		`{"type":"content_block_start","index":2,"content_block":`+redacted+`}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"second"}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"c","name":"t","input":{}}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
	)
	m := r.Message
	if m.Content != "firstsecond" || m.Reasoning != "hm, yes" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Arguments != `{"a":1}` {
		t.Fatalf("%+v", m)
	}
	laid := `[{"type":"thinking","thinking":"hm, yes","signature":"SIG/+="},{"type":"text","text":"first"},` +
		`{"type":"redacted_thinking","data":"EmwKAhgB\u003c\u0026\u003e"},{"type":"text","text":"second"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]`
	plain := `[{"type":"text","text":"firstsecond"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]`
	rewritten := m
	rewritten.Content = "shorter"
	for name, c := range map[string]struct {
		m    Message
		host string
		want string
	}{
		"same host":    {m, "api.anthropic.com", laid},
		"another host": {m, "api.z.ai", plain},
		"a history somebody rewrote": {rewritten, "api.anthropic.com", `[{"type":"thinking","thinking":"hm, yes","signature":"SIG/+="},` +
			`{"type":"redacted_thinking","data":"EmwKAhgB\u003c\u0026\u003e"},{"type":"text","text":"shorter"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]`},
		"not ours": {Message{Content: "x", Native: []byte(`[{"type":"reasoning.text"}]`)}, "api.anthropic.com", `[{"type":"text","text":"x"}]`},
	} {
		b, err := json.Marshal(assistantBlocks(c.m, c.host))
		if err != nil || string(b) != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, b, c.want)
		}
	}
	t.Run("the chat dialect sends none of it", func(t *testing.T) {
		b, err := encodeChat(Request{Messages: []Message{m}}, route(t, ProviderCustom, "https://api.anthropic.com/v1"), rewrites{})
		if err != nil || strings.Contains(string(b), "SIG") {
			t.Errorf("%s %v", b, err)
		}
	})
}

// TestReasoningGoesBackInTheChatDialect: what the server sent under these names it gets back, and nobody else does.
func TestReasoningGoesBackInTheChatDialect(t *testing.T) {
	a := &assembler{host: "m.example"}
	for _, e := range []string{
		`{"choices":[{"delta":{"reasoning_content":"hm","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","signature":"S"},{"type":"reasoning.encrypted","index":1,"data":"E"}]}}]}`,
		`{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}`,
	} {
		if _, err := a.event("", []byte(e), func(Delta) {}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := a.response(true)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(encodeMessage(r.Message, "m.example"))
	want := `{"role":"assistant","content":"ok","reasoning_content":"hm","reasoning_details":[{"index":0,"signature":"S","text":"hm","type":"reasoning.text"},{"type":"reasoning.encrypted","index":1,"data":"E"}]}`
	if string(b) != want {
		t.Errorf("%s\nwant\n%s", b, want)
	}
	if b, _ = json.Marshal(encodeMessage(r.Message, "other.example")); string(b) != `{"role":"assistant","content":"ok"}` {
		t.Errorf("another host got %s", b)
	}
}

// TestMessagesUsageAndEnds: M9 and the stop reasons.
func TestMessagesUsageAndEnds(t *testing.T) {
	r := feed(t,
		`{"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":7,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}`)
	if r.Usage != (Usage{Input: 7, Output: 9, CacheRead: 100, CacheWrite: 20, Reasoning: 4}) || r.Model != "claude-x" {
		t.Errorf("%+v", r)
	}
	for stop, want := range map[string]string{
		"end_turn": FinishStop, "stop_sequence": FinishStop, "max_tokens": FinishLength, "model_context_window_exceeded": FinishLength,
		"tool_use": FinishToolCalls, "refusal": FinishContentFilter, "pause_turn": FinishPause, "something_new": FinishStop, "": "",
	} {
		if got := finishOf(stop); got != want {
			t.Errorf("%q: %q, want %q", stop, got, want)
		}
	}
}
