package llm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestCacheTTL(t *testing.T) {
	for _, c := range []struct {
		id     string
		v      any
		set    bool
		source string
		want   CacheTTL
	}{
		{"S-420 absent", nil, false, "cli", Cache5m},
		{"S-420 5m", "5m", true, "cli", Cache5m},
		{"S-420 1h whatever the source", " 1H ", true, "cron", Cache1h},
		{"T-325 auto cli", "auto", true, "cli", Cache1h},
		{"T-325 auto telegram", "auto", true, "telegram", Cache1h},
		{"T-325 auto empty", "auto", true, "", Cache1h},
		{"T-325 auto CRON", "auto", true, "CRON ", Cache5m},
		{"T-325 auto subagent", "auto", true, "subagent", Cache5m},
		{"T-325 auto batch", "auto", true, "batch", Cache5m},
		{"L13 auto oneshot", "auto", true, "oneshot", Cache5m},
		{"L13 auto webhook", "auto", true, "webhook", Cache5m},
		{"L13 auto kanban", "auto", true, "kanban", Cache5m},
		{"L13 auto api", "auto", true, "api", Cache5m},
		{"L13 auto tool", "auto", true, "tool", Cache5m},
		{"T-327 off", "off", true, "cli", CacheOff},
		{"T-327 false", false, true, "cli", CacheOff},
		{"T-327 false as text", "False", true, "cli", CacheOff},
		{"T-327 null", nil, true, "cli", CacheOff},
		{"T-327 none", "none", true, "cli", CacheOff},
		{"T-327 7m is ignored", "7m", true, "cli", Cache5m},
		{"S-420 a number is ignored", 3600, true, "cli", Cache5m},
		{"S-420 true is ignored", true, true, "cli", Cache5m},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := ParseCacheTTL(c.v, c.set).ForSession(c.source); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		id, provider, model string
		in, want            CacheTTL
	}{
		{"T-328 opencode-go minimax", "opencode-go", "minimax/minimax-m2.5", Cache1h, Cache5m},
		{"T-328 alibaba", "alibaba", "x", Cache1h, Cache5m},
		{"T-328 claude native", "anthropic", "claude-x", Cache1h, Cache1h},
		{"S-422 opencode-go", "opencode-go", "qwen3", Cache1h, Cache1h},
		{"S-422 qwen elsewhere", "openrouter", "qwen/Qwen3-coder", Cache1h, Cache5m},
		{"S-422 opencode", "opencode", "claude-x", Cache1h, Cache5m},
		{"S-422 opencode-zen", "opencode-zen", "claude-x", Cache1h, Cache5m},
		{"S-422 5m stays", "anthropic", "claude-x", Cache5m, Cache5m},
		{"S-422 zero", "anthropic", "claude-x", "", Cache5m},
		{"S-422 off stays", "opencode-go", "x", CacheOff, CacheOff},
	} {
		t.Run(c.id, func(t *testing.T) {
			if got := c.in.forRoute(c.provider, c.model); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// conversationOf makes messages from letters: s(ystem) u(ser) a(ssistant) c(alls without text) t(ool result) e(mpty user).
func conversationOf(letters string) []Message {
	roles := map[rune]Message{
		's': {Role: RoleSystem, Content: "static|rest"}, 'u': {Role: RoleUser, Content: "u"}, 'a': {Role: RoleAssistant, Content: "a"},
		'c': {Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1", Name: "t"}}}, 't': {Role: RoleTool, ToolCallID: "1", Content: "r"}, 'e': {Role: RoleUser, Content: " "},
	}
	var out []Message
	for _, l := range letters {
		out = append(out, roles[l])
	}
	return out
}

func TestPlanMarks(t *testing.T) {
	native, proxy := route(t, ProviderAnthropic, ""), route(t, ProviderCustom, "https://m.example/anthropic")
	openrouter, plain := route(t, "openrouter", ""), route(t, "openai", "")
	for _, c := range []struct {
		id       string
		rt       Route
		messages string
		tools    bool
		prefix   string
		want     string
	}{
		{"L10 with a prefix: prefix, system, last two", proxy, "suauauau", false, "static|", "prefix system [7 6]"},
		{"L10 without: system, last three", proxy, "suauauau", true, "", "system [7 6 5]"},
		{"L10 direct: prefix, tool, last two ends", native, "suauctctcttu", true, "static|", "prefix tool [11 7]"},
		{"L10 direct: the end of a batch only", native, "suctctctttt", true, "static|", "prefix tool [10 5]"},
		{"L10 direct without a prefix", native, "suauau", true, "", "system tool [5 3]"},
		{"L10 direct without tools", native, "suauau", false, "static|", "prefix system [5 3]"},
		{"L10 a prefix that does not fit", native, "suauau", true, "other", "system tool [5 3]"},
		{"L10 a prefix that is everything", native, "suauau", true, "static|rest", "system tool [5 3]"},
		{"L11 no markers on tool results of a proxy", proxy, "suctct", false, "", "system [1]"},
		{"L11 empty content moves the budget", proxy, "suauae", false, "", "system [4 3 2]"},
		{"L11 no system", proxy, "uauaua", false, "", "[5 4 3 2]"},
		{"L10 parts of a proxy that honours them", openrouter, "suctau", true, "static|", "prefix system [5 4]"},
		{"L10 not where nobody honours them", plain, "suau", true, "static|", ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			r := Request{Model: "anthropic/claude-x", Messages: conversationOf(c.messages), StaticPrefix: c.prefix}
			if c.tools {
				r.Tools = []ToolDefinition{{Name: "t"}}
			}
			m := planMarks(r, c.rt)
			var got []string
			for _, on := range []struct {
				is   bool
				name string
			}{{m.prefix, "prefix"}, {m.system, "system"}, {m.tool, "tool"}} {
				if on.is {
					got = append(got, on.name)
				}
			}
			if len(m.messages) > 0 {
				got = append(got, fmt.Sprint(m.messages))
			}
			if s := strings.Join(got, " "); s != c.want || m.count() > 4 {
				t.Errorf("%q with %d marks, want %q", s, m.count(), c.want)
			}
			if again := planMarks(r, c.rt); !reflect.DeepEqual(m, again) {
				t.Errorf("S-423 planned again: %+v, %+v", m, again)
			}
		})
	}
	t.Run("S-420 off sends none", func(t *testing.T) {
		if m := planMarks(Request{Messages: conversationOf("suau"), CacheTTL: CacheOff}, native); m.count() != 0 {
			t.Errorf("%+v", m)
		}
	})
}

// TestMarksOnTheWire: S-423, the request that was given stays as it is and encodes to the same bytes again.
func TestMarksOnTheWire(t *testing.T) {
	for provider, want := range map[string]string{
		ProviderAnthropic: `"system":[{"type":"text","text":"static|","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"rest"}]`,
		"openrouter":      `{"role":"system","content":[{"type":"text","text":"static|","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"rest","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`,
	} {
		rt := route(t, provider, "")
		r := Request{
			Model: "anthropic/claude-x", CacheTTL: Cache1h, StaticPrefix: "static|", Messages: conversationOf("suctau"),
			Tools: []ToolDefinition{{Name: "t"}},
		}
		before := fmt.Sprintf("%+v", r.Messages)
		first, err := rt.wire().encode(r, rt, rewrites{})
		if err != nil {
			t.Fatal(err)
		}
		second, _ := rt.wire().encode(r, rt, rewrites{})
		if !strings.Contains(string(first), want) || string(first) != string(second) || fmt.Sprintf("%+v", r.Messages) != before {
			t.Errorf("%s: %s", provider, first)
		}
		if n := strings.Count(string(first), "cache_control"); n != 4 {
			t.Errorf("%s: %d markers in %s", provider, n, first)
		}
	}
}
