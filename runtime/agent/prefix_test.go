package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
)

// TestPrefixIsStable: whatever happens between them, the body of each request of a session starts with the bytes of
// the one before, up to the end of its messages, so that a provider's prefix cache always holds; and every request is
// legal.
func TestPrefixIsStable(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			b := newBench(t)
			b.model.Respond(func(fakemodel.Request) fakemodel.Turn { return randomTurn(rnd) })
			replies := 0
			for i := range 12 {
				turn := agent.Turn{SessionID: "s", Source: "cli", UserText: fmt.Sprintf("message %d <&> é %s", i, strings.Repeat("x", rnd.IntN(50)))}
				if _, err := b.loop.Run(context.Background(), turn, b.record); err == nil {
					replies++
				}
				if rnd.IntN(4) == 0 { // a restart of the process
					must(t, b.store.Close())
					b.open(b.model.URL())
				}
			}
			var before []byte
			for i, r := range b.model.Requests() {
				legal(t, r.Parsed.Decoded())
				if !bytes.HasPrefix(r.Body, before) {
					t.Fatalf("request %d does not start with request %d:\n%s\n%s", i, i-1, before, r.Body)
				}
				before = bytes.TrimSuffix(r.Body, []byte("]}"))
			}
			if n := len(b.model.Requests()); n < 12 || replies == 0 {
				t.Fatalf("%d requests, %d replies: the property was hardly tried", n, replies)
			}
		})
	}
}

func randomTurn(rnd *rand.Rand) fakemodel.Turn {
	switch rnd.IntN(8) {
	case 0:
		return fakemodel.Status(500)
	case 1:
		return fakemodel.Turn{Text: strings.Repeat("cut ", 200), Fault: fakemodel.Fault{TruncateAfter: 800}}
	case 2, 3:
		return fakemodel.Turn{Text: "I look", Reasoning: "hm", ToolCalls: []fakemodel.ToolCall{call("a", "list_dir", `{"path":"."}`)}}
	case 4:
		return fakemodel.Calls(call("a", "list_dir", `{}`), call("a", "write_file", `{"path":"f","content":"<é>"}`), call("", "read_file", `{"path":"f"}`))
	case 5:
		return fakemodel.Calls(call("z", "nope", `{broken`))
	}
	return fakemodel.Text("an answer with \"quotes\", <tags> & ünïcode")
}

// TestForeignRowsBecomeLegal: histories that no turn wrote (imports, other versions) are made legal on the way out.
func TestForeignRowsBecomeLegal(t *testing.T) {
	u := func(s string) store.Message { return store.Message{Role: "user", Content: s} }
	a := func(s string) store.Message { return store.Message{Role: "assistant", Content: s} }
	calls := store.Message{Role: "assistant", ToolCalls: []byte(`[{"id":"1","type":"function","function":{"name":"t","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"t","arguments":"{}"}}]`)}
	result := func(id string) store.Message { return store.Message{Role: "tool", ToolCallID: id, Content: "r" + id} }
	for name, rows := range map[string][]store.Message{
		"two users":                     {u("1"), u("2"), a("3")},
		"two assistants":                {u("1"), a("2"), a("3")},
		"text then calls":               {u("1"), a("2"), calls, result("1"), result("2"), a("3")},
		"calls without results":         {u("1"), calls, u("2"), a("3")},
		"one result missing":            {u("1"), calls, result("2"), a("3")},
		"results in the wrong order":    {u("1"), calls, result("2"), result("1"), a("3")},
		"results of nothing":            {u("1"), result("9"), a("2"), result("9")},
		"a stray system row":            {u("1"), {Role: "system", Content: "x"}, a("2")},
		"unreadable calls":              {u("1"), {Role: "assistant", Content: "x", ToolCalls: []byte(`[{"id":5}]`)}, result("1")},
		"user after results":            {u("1"), calls, result("1"), result("2"), u("2")},
		"ends in the middle of a batch": {u("1"), calls, result("1")},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			ctx := context.Background()
			_, _, err := b.store.EnsureSession(ctx, store.Session{ID: "s", Source: "import"})
			must(t, err)
			_, err = b.store.Append(ctx, "s", rows...)
			must(t, err)
			b.mustSay("hello")
			b.mustSay("hello again")
			for _, r := range b.model.Requests() {
				legal(t, r.Parsed.Decoded())
			}
			rs := b.model.Requests()
			if !bytes.HasPrefix(rs[1].Body, bytes.TrimSuffix(rs[0].Body, []byte("]}"))) {
				t.Error("the repair is not stable")
			}
		})
	}
}
