package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// TestParseMaxTurns: L6 and the agent.max_turns row of the configuration table.
func TestParseMaxTurns(t *testing.T) {
	for _, c := range []struct {
		v    any
		set  bool
		want int
		bad  bool
	}{
		{nil, false, 500, false}, {nil, true, Unlimited, false}, {0, true, Unlimited, false}, {-1, true, Unlimited, false},
		{"none", true, Unlimited, false}, {"Unlimited", true, Unlimited, false}, {"inf", true, Unlimited, false},
		{math.Inf(1), true, Unlimited, false}, {7, true, 7, false}, {int64(7), true, 7, false}, {uint64(7), true, 7, false},
		{7.0, true, 7, false}, {" 7 ", true, 7, false}, {"0", true, Unlimited, false},
		{-2, true, 0, true}, {1.5, true, 0, true}, {"many", true, 0, true}, {true, true, 0, true}, {math.NaN(), true, 0, true},
	} {
		got, err := ParseMaxTurns(c.v, c.set)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%v (set %v): %d, %v", c.v, c.set, got, err)
		}
	}
}

func TestModelErrorKinds(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	mk := func(r llm.Reason, code string, after time.Duration) *llm.Error {
		return &llm.Error{Verdict: llm.Verdict{Reason: r}, Code: code, RetryAfter: after, Host: "h"}
	}
	for _, c := range []struct {
		err   error
		cause string
		retry time.Time
	}{
		{mk(llm.ReasonAuth, llm.CodeCredentialMissing, 0), "credential_missing", time.Time{}},
		{mk(llm.ReasonAuth, "invalid_api_key", 0), "credential_refused", time.Time{}},
		{mk(llm.ReasonBilling, "", 0), "billing", time.Time{}},
		{mk(llm.ReasonRateLimit, "", time.Minute), "rate_limited", now.Add(time.Minute)},
		{mk(llm.ReasonUpstreamRateLimit, "", 0), "rate_limited", time.Time{}},
		{mk(llm.ReasonContextOverflow, "", 0), "model_failed:context_overflow", time.Time{}},
		{mk(llm.ReasonOverloaded, "", time.Second), "model_failed:overloaded", now.Add(time.Second)},
		{errors.New("odd"), "model_failed", time.Time{}},
	} {
		e := modelError(context.Background(), fmt.Errorf("wrapped: %w", c.err), now)
		if e.Cause() != c.cause || !e.RetryAt.Equal(c.retry) || !errors.Is(e, c.err) {
			t.Errorf("%v: %s at %s", c.err, e.Cause(), e.RetryAt)
		}
	}
}

// TestRepair is the truth table of what an unfinished history needs before the next turn (L2, L7). Calls of y only read.
func TestRepair(t *testing.T) {
	u, a := store.Message{Role: "user", Content: "u"}, store.Message{Role: "assistant", Content: "a"}
	calls := store.Message{Role: "assistant", ToolCalls: []byte(`[{"id":"1","function":{"name":"x"}},{"id":"2","function":{"name":"y"}}]`)}
	twins := store.Message{Role: "assistant", ToolCalls: []byte(`[{"id":"1","function":{"name":"x"}},{"id":"1","function":{"name":"x"}}]`)}
	r1, r2 := store.Message{Role: "tool", ToolCallID: "1"}, store.Message{Role: "tool", ToolCallID: "2"}
	for _, c := range []struct {
		name       string
		rows       []store.Message
		want       string // role:tool:disposition of the rows to add
		unfinished bool
	}{
		{"empty", nil, "", false},
		{"finished", []store.Message{u, a}, "", false},
		{"no answer", []store.Message{u}, "assistant::", true},
		{"no result", []store.Message{u, calls}, "tool:x:unknown tool:y:none assistant::", true},
		{"one result", []store.Message{u, calls, r1}, "tool:y:none assistant::", true},
		{"later result only", []store.Message{u, calls, r2}, "tool:x:unknown assistant::", true},
		{"one result of two calls of one id", []store.Message{u, twins, r1}, "tool:x:unknown assistant::", true},
		{"all results", []store.Message{u, calls, r1, r2}, "assistant::", true},
		{"older open calls are not touched", []store.Message{u, calls, a}, "", false},
		{"a stray result after the reply", []store.Message{u, a, r1}, "", false},
	} {
		var got []string
		for _, m := range repair(c.rows, func(call llm.ToolCall) bool { return call.Name == "y" }) {
			got = append(got, m.Role+":"+m.ToolName+":"+m.EffectDisposition)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
		if resumable(c.rows) != c.unfinished {
			t.Errorf("%s: resumable %v", c.name, !c.unfinished)
		}
	}
}

// TestCallsRoundTrip: arguments are kept as the model sent them, valid or not.
func TestCallsRoundTrip(t *testing.T) {
	in := []llm.ToolCall{{ID: "1", Name: "n", Arguments: `{"a":"<é>"}`}, {ID: "2", Name: "m", Arguments: `{broken "`}, {ID: "3", Name: "o"}}
	raw, err := encodeCalls(in)
	if err != nil {
		t.Fatal(err)
	}
	out := decodeCalls(raw)
	if len(out) != 3 || out[0] != in[0] || out[1] != in[1] || out[2] != in[2] {
		t.Fatalf("%+v", out)
	}
}

// TestAPIContentGoesToTheModel: the exact bytes once sent win over the text people see.
func TestAPIContentGoesToTheModel(t *testing.T) {
	if m := message(store.Message{Role: "user", Content: "shown", APIContent: "sent"}); m.Content != "sent" {
		t.Fatal(m.Content)
	}
}

// TestSteerable is the truth table of where a steer may stand (P-35 to P-37).
func TestSteerable(t *testing.T) {
	row := map[byte]store.Message{
		'u': {Role: "user"}, 's': {Role: "user", DisplayKind: "steer"}, 'p': {Role: "user", DisplayKind: "peer_message"},
		'a': {Role: "assistant", ToolCalls: []byte(`[{"id":"1"}]`)}, 't': {Role: "tool"},
	}
	for rows, want := range map[string]bool{
		"": false, "u": false, "uat": true, "uatt": true,
		"uats": true, "uatp": true, "uatsp": true, // behind what was put in before
		"uatau":  false, // PA-30: results only in an earlier turn
		"uataup": false, "uatauat": true,
		"uata": false, "ua": false, "up": false, "s": false,
	} {
		var in []store.Message
		for _, c := range []byte(rows) {
			in = append(in, row[c])
		}
		if got := steerable(in); got != want {
			t.Errorf("P-35 %q: %v", rows, got)
		}
	}
}
