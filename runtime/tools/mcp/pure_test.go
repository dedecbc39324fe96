package mcp

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// Case 97 of T16: names and the filter.
func TestT16NamesAndFilter(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"my-api", "list-items.v2", "mcp__my_api__list_items_v2"},
		{"my.api", "list items/v2", "mcp__my_api__list_items_v2"},
		{"plain", "tool", "mcp__plain__tool"},
		{"ä", "ö", "mcp______"},
	} {
		if got := toolName(word(c.server), word(c.tool)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.server, c.tool, got, c.want)
		}
	}
	long := toolName("server", strings.Repeat("x", 80))
	other := toolName("server", strings.Repeat("x", 79)+"y")
	if len(long) != maxName || long == other || long != toolName("server", strings.Repeat("x", 80)) {
		t.Errorf("%s %s", long, other)
	}
	got := words([]string{"a_b", "a-b", "a.b", "c"})
	if got["a-b"] != "a_b" || got["c"] != "c" || got["a.b"] == got["a_b"] || got["a.b"] == "a_b" || !strings.HasPrefix(got["a.b"], "a_b_") {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		name             string
		include, exclude string
		tool             string
		want             bool
	}{
		{"nothing set", "", "", "any", true},
		{"included", "list_*", "", "list_items", true},
		{"not included", "list_*", "", "get_item", false},
		{"excluded", "", "delete_*", "delete_item", false},
		{"not excluded", "", "delete_*", "list_items", true},
		{"case 97: both set, include beats exclude", "list_*", "list_secret", "list_secret", true},
		{"case 97: both set, exclude adds nothing", "list_*", "other", "third", false},
		{"exact", "list", "", "list_items", false},
		{"original name, not ours", "list-items.v2", "", "list-items.v2", true},
		{"a slash is no boundary", "*", "", "a/b/c", true},
		{"class", "[ab]_?", "", "b_1", true},
		{"a name that looks like a pattern", "[x]", "", "[x]", true},
	} {
		if got := offered(strings.Fields(c.include), strings.Fields(c.exclude), c.tool); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// T15: declarations made for other clients are understood, and what cannot be meant is said.
func TestT15Parse(t *testing.T) {
	s := Parse("x", map[string]any{
		"type": "stdio", "command": "npx", "args": []any{"-y", "server", 8080}, "env": map[string]any{"PORT": 8080, "DEBUG": true, "NONE": nil},
		"timeout": "30s", "connect_timeout": 2.5, "keepalive_interval": 1, "disabled": false, "autoApprove": []any{"x"}, "tools": map[string]any{"include": "one", "prompts": false},
		"idle_timeout_seconds": 600, "max_lifetime_seconds": "3600", "supports_parallel_tool_calls": "true",
	})
	if s.Invalid != "" || strings.Join(s.Args, " ") != "-y server 8080" || s.Env["PORT"] != "8080" || s.Env["DEBUG"] != "true" || len(s.Env) != 2 ||
		s.Timeout != 30*time.Second || s.ConnectTimeout != 2500*time.Millisecond || s.Keepalive != minKeepalive || s.Disabled || len(s.Include) != 1 ||
		!s.Resources || s.Prompts || s.IdleTimeout != 10*time.Minute || s.MaxLifetime != time.Hour || !s.Parallel || s.Untrusted {
		t.Errorf("%+v", s)
	}
	if s := Parse("x", map[string]any{"command": "c"}); s.Timeout != defaultTimeout || s.ConnectTimeout != defaultConnectTimeout || s.Keepalive != defaultKeepalive || s.Protocol != ProtocolAuto {
		t.Errorf("%+v", s)
	}
	for want, m := range map[string]any{
		"must be an object":                     "npx",
		"exactly one of command":                map[string]any{},
		"exactly one of command ":               map[string]any{"command": "c", "url": "http://h"},
		"args must be a list of texts":          map[string]any{"command": "c", "args": []any{map[string]any{}}},
		"env must be an object of texts":        map[string]any{"command": "c", "env": []any{"A=b"}},
		"timeout must be a number of seconds":   map[string]any{"command": "c", "timeout": "soon"},
		"timeout must be a number of seconds; ": map[string]any{"command": "c", "timeout": -1, "connect_timeout": "x"},
		"enabled must be true or false":         map[string]any{"command": "c", "enabled": "maybe"},
		"protocol is \"new\"":                   map[string]any{"command": "c", "protocol": "new"},
		"transport is \"ws\"":                   map[string]any{"url": "http://h", "transport": "ws"},
		"auth oauth is not there":               map[string]any{"url": "http://h", "auth": "oauth"},
		"is no valid pattern":                   map[string]any{"command": "c", "tools": map[string]any{"exclude": []any{"[a"}}},
		"client_key needs a client_cert":        map[string]any{"url": "http://h", "client_key": "k"},
		"tools must be an object":               map[string]any{"command": "c", "tools": []any{"a"}},
	} {
		if s := Parse("x", m); !strings.Contains(s.Invalid, strings.TrimSpace(want)) || !strings.HasPrefix(s.Invalid, "mcp_servers.x") {
			t.Errorf("%v: %q, want %q", m, s.Invalid, want)
		}
	}
	for _, url := range []string{"ftp://h", "h:80", "http://", "${NOT_THERE}"} {
		if s := Parse("x", map[string]any{"url": url}).Expand(func(string) (string, bool) { return "", false }); !strings.Contains(s.Invalid, "url must be") {
			t.Errorf("%s: %q", url, s.Invalid)
		}
	}
}

// T17: references resolve from the profile, once; what is unset stays as it is written.
func TestT17Expand(t *testing.T) {
	lookup := func(name string) (string, bool) {
		v, ok := map[string]string{"KEY": "secret-${KEY}", "HOST": "example.com", "EMPTY": ""}[name]
		return v, ok
	}
	s := Parse("x", map[string]any{
		"url": "https://${HOST}/mcp?key=${KEY}", "headers": map[string]any{"A": "Bearer ${env:KEY}", "B": "${UNSET} $KEY ${}", "C": "-${EMPTY}-", "D": "literal-value"},
	}).Expand(lookup)
	for got, want := range map[string]string{
		s.Headers["A"]: "Bearer secret-${KEY}", s.Headers["B"]: "${UNSET} $KEY ${}", s.Headers["C"]: "--", s.URL: "https://example.com/mcp?key=secret-${KEY}",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := s.hide("at " + s.URL + " with " + s.Headers["A"] + " and literal-value"); strings.Contains(got, "secret") || strings.Contains(got, "literal") {
		t.Error(got)
	}
}

// T19: the delay doubles to a bound, spread by a fifth.
func TestT19Backoff(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1 << 30: 5 * time.Minute} {
		if got := delayAfter(n, 0.5); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if low, high := delayAfter(n, 0), delayAfter(n, 1); low != want*8/10 || high != want*12/10 {
			t.Errorf("%d: %s to %s", n, low, high)
		}
	}
}

// T8, T19: which servers' tools are offered, and which a person hears of.
func TestT19Available(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name                string
		s                   status
		available, troubled bool
	}{
		{"first connect", status{phase: PhaseConnecting}, false, false},
		{"first connect failed", status{phase: PhaseLost, why: "x"}, false, true},
		{"trying again", status{phase: PhaseConnecting, why: "x"}, false, true},
		{"connected", status{phase: PhaseConnected, known: true}, true, false},
		{"asleep", status{phase: PhaseAsleep, why: "nobody uses it", known: true}, true, false},
		{"lost a moment ago", status{phase: PhaseLost, why: "x", lost: ago(59 * time.Second), known: true}, true, false},
		{"connecting again", status{phase: PhaseConnecting, lost: ago(time.Second), known: true}, true, false},
		{"lost for a minute", status{phase: PhaseLost, why: "x", lost: ago(60 * time.Second), known: true}, false, true},
		{"off", status{phase: PhaseOff, why: "disabled", known: true}, false, false},
		{"invalid", status{phase: PhaseInvalid, why: "x", known: true}, false, true},
	} {
		if got := c.s.toolsAvailable(now); got != c.available {
			t.Errorf("%s: available %v", c.name, got)
		}
		if got := c.s.troubled(now); got != c.troubled {
			t.Errorf("%s: troubled %v", c.name, got)
		}
	}
}

// The ways to begin share the connect timeout.
func TestT15Openings(t *testing.T) {
	for protocol, want := range map[Protocol]string{ProtocolAuto: " 2025-11-25", ProtocolStateless: "", ProtocolLegacy: "2025-11-25"} {
		var versions []string
		total := 0.0
		for _, o := range openings(protocol) {
			versions, total = append(versions, o.version), total+o.share
		}
		if got := strings.Join(versions, " "); got != want || total != 1 {
			t.Errorf("%s: %q, %v", protocol, got, total)
		}
	}
}

func TestMessageLines(t *testing.T) {
	var other []string
	in := "hello\n{\"a\":1}\n\n  [1,2]  \r\n[info] x\n{broken\n{\"last\":true}"
	got, err := io.ReadAll(newMessageLines(strings.NewReader(in), func(b []byte) { other = append(other, string(b)) }))
	if want := "{\"a\":1}\n[1,2]\n{\"last\":true}\n"; err != nil || string(got) != want {
		t.Errorf("%q %v", got, err)
	}
	if strings.Join(other, "|") != "hello|[info] x|{broken" {
		t.Errorf("%q", other)
	}
	endless := io.MultiReader(strings.NewReader("{\"a\":1}\n"), bytes.NewReader(bytes.Repeat([]byte("x"), maxMessage+2)))
	got, err = io.ReadAll(newMessageLines(endless, func([]byte) { t.Error("a line without an end was passed on") }))
	if err != errTooLong || string(got) != "{\"a\":1}\n" {
		t.Errorf("%.50q %v", got, err)
	}
}
