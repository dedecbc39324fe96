package llm

import "testing"

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
