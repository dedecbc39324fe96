package llm

import (
	"strings"
	"testing"
)

func TestNewRoute(t *testing.T) {
	for _, c := range []struct{ provider, base, want, err string }{
		{"openai", "", "https://api.openai.com/v1", ""},
		{"OpenRouter", "", "https://openrouter.ai/api/v1", ""},
		{"grok", "", "https://api.x.ai/v1", ""},
		{"ollama", "", "http://127.0.0.1:11434/v1", ""},
		{"custom", "https://h.example/v1/", "https://h.example/v1", ""},
		{"custom", "https://h.example/v1/chat/completions", "https://h.example/v1", ""},
		{"openai", "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1", ""},
		{"custom", "", "", "needs a base URL"},
		{"nope", "", "", "use one of"},
		{"custom", "h.example/v1", "", "must begin with https://"},
		{"custom", "ftp://h", "", "must begin with https://"},
		{"custom", "https:///v1", "", "names no host"},
		{"custom", "https://user:secret@h/v1", "", "put the key into a Secret"},
		{"custom", "https://h/v1?key=secret", "", "remove what follows"},
		{"custom", "https://h\x7f/", "", "is not a URL"},
	} {
		r, err := NewRoute(c.provider, c.base)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s %s: %v, want %q", c.provider, c.base, err, c.err)
			}
		case err != nil || r.url.String() != c.want:
			t.Errorf("%s %s: %v %v", c.provider, c.base, r.url, err)
		}
	}
}

// TestProviderTable: every entry is usable as it stands, over TLS unless it is this machine.
func TestProviderTable(t *testing.T) {
	for _, p := range providers {
		if p.Name == ProviderCustom {
			continue
		}
		r, err := NewRoute(p.Name, "")
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if local := isLoopback(r.Host()); local != p.KeyOptional || local == (r.url.Scheme == "https") {
			t.Errorf("%s: %s local=%v keyOptional=%v", p.Name, r.url, local, p.KeyOptional)
		}
	}
	for alias, name := range aliases {
		if p, ok := LookupProvider(alias); !ok || p.Name != name {
			t.Errorf("V11 alias %s: %+v", alias, p)
		}
	}
}

func TestKeyMayTravel(t *testing.T) {
	for u, want := range map[string]bool{
		"https://api.example.com/v1": true, "http://127.0.0.1:1/v1": true, "http://[::1]:1/v1": true, "http://localhost/v1": true,
		"http://192.168.1.4/v1": true, "http://10.0.0.1/v1": true, "http://nas:8080/v1": true, "http://nas.local/v1": true,
		"http://vllm.models.svc.cluster.local/v1": true, "http://vllm.models.svc/v1": true,
		"http://api.example.com/v1": false, "http://8.8.8.8/v1": false, "http://local.example.com/v1": false,
	} {
		p, err := parseBaseURL(u)
		if err != nil {
			t.Fatal(err)
		}
		if keyMayTravel(p) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
}

func TestEncodePerRoute(t *testing.T) {
	r := Request{Model: "m", MaxTokens: 5, Messages: []Message{{Role: RoleAssistant, Reasoning: "private", ToolCalls: []ToolCall{{ID: "1", Name: "n", Arguments: "{broken"}}}}}
	for provider, want := range map[string]string{
		"openai":  `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":5,"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{broken"}}]}]}`,
		"mistral": `{"model":"m","stream":true,"max_tokens":5,"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"n","arguments":"{broken"}}]}]}`,
	} {
		rt, err := NewRoute(provider, "")
		if err != nil {
			t.Fatal(err)
		}
		if b, err := encodeChat(r, rt, rewrites{}); err != nil || string(b) != want {
			t.Errorf("%s: %s %v", provider, b, err)
		}
	}
}
