package llm

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzBlocks: no stream of the messages dialect makes the client panic or becomes a message without its end, and what
// comes out of one can be sent back.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte(`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":5}}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}
{"type":"content_block_start","index":-3,"content_block":{"type":"text","text":"a"}}
{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"n","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{"}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":-1}}`), true)
	f.Add([]byte(`{"type":"content_block_start","content_block":{"type":"server_tool_use","input":{"q":1}}}
{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}
{"type":"message_stop"}`), true)
	f.Add([]byte(`{"type":"error","error":"x"}`), false)
	rt, err := NewRoute(ProviderAnthropic, "")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, events []byte, done bool) {
		a := &blocks{host: rt.Host()}
		for _, line := range bytes.Split(events, []byte("\n")) {
			if _, err := a.event("", line, func(Delta) {}); err != nil {
				return
			}
		}
		r, err := a.response(done)
		if err != nil {
			return
		}
		if !done && a.stop == "" {
			t.Fatalf("a cut stream became %+v", r)
		}
		b, err := encodeMessages(Request{Messages: []Message{{Role: RoleUser, Content: "q"}, r.Message}}, rt, rewrites{})
		if err != nil || !json.Valid(b) {
			t.Fatalf("%+v cannot be sent back: %v", r.Message, err)
		}
	})
}

// FuzzAnswer: no stream makes the client panic, and none that lacks its end becomes a message.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{"}}]}}]}`), false)
	f.Add([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":-5,"function":{"arguments":{"a":1}}}]},"finish_reason":"stop"}]}`), true)
	f.Add([]byte(`{"error":"x"}`), false)
	f.Add([]byte(`{"error":{"code":5,"message":null}}`), true)
	f.Fuzz(func(t *testing.T, event []byte, done bool) {
		a := &assembler{host: "h"}
		for range 2 {
			if _, err := a.event("", event, func(Delta) {}); err != nil {
				return
			}
		}
		r, err := a.response(done)
		if err == nil && !done && a.finish == "" {
			t.Fatalf("a cut stream became %+v", r)
		}
		seen := map[string]bool{}
		for _, tc := range r.Message.ToolCalls {
			if tc.ID == "" || seen[tc.ID] {
				t.Fatalf("call ids %+v", r.Message.ToolCalls)
			}
			seen[tc.ID] = true
		}
	})
}
