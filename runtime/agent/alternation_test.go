package agent

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// lawful says what is wrong with rows as a conversation (L2, P-29), "" when nothing is. It is written from the rule,
// not from the code.
func lawful(rows []store.Message) string {
	ids := map[string]bool{}
	var open []string
	for i, r := range rows {
		if len(open) > 0 && (r.Role != llm.RoleTool || r.ToolCallID != open[0]) {
			return fmt.Sprintf("row %d: %s %q where the result of %q is due", i, r.Role, r.ToolCallID, open[0])
		}
		prev := store.Message{}
		if i > 0 {
			prev = rows[i-1]
		}
		switch r.Role {
		case llm.RoleTool:
			if len(open) == 0 {
				return fmt.Sprintf("row %d: result of no call", i)
			}
			open = open[1:]
		case llm.RoleUser:
			if r.Content == "" && r.APIContent == "" {
				return fmt.Sprintf("row %d: empty user", i)
			}
			apart := r.DisplayKind == "steer" || r.DisplayKind == "peer_message" || prev.DisplayKind == "steer" || prev.DisplayKind == "peer_message"
			if prev.Role == llm.RoleUser && !apart {
				return fmt.Sprintf("row %d: user after user", i)
			}
		case llm.RoleAssistant:
			calls := decodeCalls(r.ToolCalls)
			if len(r.ToolCalls) > 0 && len(calls) == 0 {
				return fmt.Sprintf("row %d: calls that cannot be read", i)
			}
			if i == 0 || prev.Role == llm.RoleAssistant {
				return fmt.Sprintf("row %d: assistant after %q", i, prev.Role)
			}
			if r.Content == "" && r.APIContent == "" && len(calls) == 0 {
				return fmt.Sprintf("row %d: empty assistant", i)
			}
			for _, c := range calls {
				if c.ID == "" || ids[c.ID] {
					return fmt.Sprintf("row %d: id %q twice or empty", i, c.ID)
				}
				ids[c.ID] = true
				open = append(open, c.ID)
			}
		default:
			return fmt.Sprintf("row %d: role %q", i, r.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("no results of %q", open)
	}
	return ""
}

// randomRows makes a history as bad as it gets.
func randomRows(rnd *rand.Rand) []store.Message {
	ids := []string{"a", "b", "call_0", "", "call_2", "a_2"}
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	var rows []store.Message
	for range rnd.IntN(12) {
		row := store.Message{
			ID: int64(len(rows) + 1), Role: pick("user", "assistant", "assistant", "tool", "tool", "system", "note", "user"),
			Content: pick("", "text", "mehr é", "x"), APIContent: pick("", "", "", "sent"), DisplayKind: pick("", "", "steer", "peer_message", "notice"),
		}
		switch row.Role {
		case "assistant":
			var calls []llm.ToolCall
			for range rnd.IntN(4) {
				calls = append(calls, llm.ToolCall{ID: ids[rnd.IntN(len(ids))], Name: pick("t", "u"), Arguments: pick("", "{}", `{"a":"<é>"}`, "{broken")})
			}
			row.ToolCalls, _ = encodeCalls(calls)
			if rnd.IntN(8) == 0 {
				row.ToolCalls = []byte(pick(`[{"id":5}]`, `{}`, `null`))
			}
		case "tool":
			row.ToolCallID = ids[rnd.IntN(len(ids))]
		}
		rows = append(rows, row)
	}
	return rows
}

func checkAlternation(t *testing.T, rows []store.Message) {
	t.Helper()
	given := fmt.Sprintf("%+v", rows)
	once := Alternate(rows)
	if fmt.Sprintf("%+v", rows) != given {
		t.Fatalf("the input was changed:\n%s", given)
	}
	if wrong := lawful(once); wrong != "" {
		t.Fatalf("%s\nof %s\nis %+v", wrong, given, once)
	}
	if twice := Alternate(once); !reflect.DeepEqual(once, twice) && len(once) > 0 {
		t.Fatalf("not idempotent:\n%+v\n%+v", once, twice)
	}
	if lawful(rows) == "" && len(rows) > 0 && !reflect.DeepEqual(rows, once) {
		t.Fatalf("legal rows were changed:\n%s\n%+v", given, once)
	}
	ms := conversation(rows)
	for i := range ms {
		if i > 0 && ms[i].Role == ms[i-1].Role && ms[i].Role != llm.RoleTool {
			t.Fatalf("message %d: %s repeats", i, ms[i].Role)
		}
	}
}

// TestAlternateProperties: L2 on random histories: legal, idempotent, legal rows unchanged; and what a turn appends to
// an unfinished history leaves the messages before it as they were.
func TestAlternateProperties(t *testing.T) {
	for seed := range uint64(3_000) {
		rows := randomRows(rand.New(rand.NewPCG(seed, 7)))
		checkAlternation(t, rows)
		after := append(append([]store.Message(nil), rows...), repair(rows, func(llm.ToolCall) bool { return false })...)
		if resumable(after) || len(after) > len(rows) && len(unanswered(after)) > 0 {
			t.Fatalf("seed %d: unfinished after its repair: %+v", seed, after)
		}
		before, now := conversation(rows), conversation(append(after, store.Message{Role: "user", Content: "next"}))
		for i := range before {
			if !reflect.DeepEqual(before[i], now[i]) {
				t.Fatalf("seed %d: message %d was %+v and is %+v\nrows %+v", seed, i, before[i], now[i], rows)
			}
		}
	}
}

// FuzzAlternate feeds rows made of bytes: role, id and text of each from one byte.
func FuzzAlternate(f *testing.F) {
	f.Add([]byte("u a t"))
	f.Add([]byte{0, 9, 18, 27, 200, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var rows []store.Message
		for _, b := range data[:min(len(data), 64)] {
			row := store.Message{Role: []string{"user", "assistant", "tool", "system"}[b&3], Content: []string{"", "x"}[b>>2&1], DisplayKind: []string{"", "steer"}[b>>3&1]}
			id := string(rune('a' + b>>4&3))
			switch row.Role {
			case "assistant":
				row.ToolCalls, _ = encodeCalls([]llm.ToolCall{{ID: id, Name: "t"}, {ID: []string{id, ""}[b>>6&1], Name: "u"}}[:b>>6%3])
				if b>>7 == 1 {
					row.ToolCalls = bytes.TrimSuffix(row.ToolCalls, []byte("]"))
				}
			case "tool":
				row.ToolCallID = id
			}
			rows = append(rows, row)
		}
		checkAlternation(t, rows)
	})
}

// TestAlternateKeepsWhatWasPutIn: case PA-26, nothing is joined with a peer's row on either side or with a steer, and
// two things a person said are.
func TestAlternateKeepsWhatWasPutIn(t *testing.T) {
	row := func(kind, text string) store.Message {
		return store.Message{Role: "user", Content: text, DisplayKind: kind}
	}
	user, steer, peer := row("", "question"), row("steer", "steer"), row("peer_message", "peer")
	for _, rows := range [][]store.Message{{peer, user}, {user, peer}, {peer, peer}, {steer, user}, {user, steer}} {
		if got := Alternate(rows); !reflect.DeepEqual(got, rows) {
			t.Errorf("PA-26 %+v became %+v", rows, got)
		}
		if ms := conversation(rows); len(ms) != 1 || ms[0].Content != rows[0].Content+"\n\n"+rows[1].Content {
			t.Errorf("P-30 %+v is sent as %+v", rows, ms)
		}
	}
	if got := Alternate([]store.Message{user, row("", "and")}); len(got) != 1 || got[0].Content != "question\n\nand" {
		t.Errorf("PA-26 two users became %+v", got)
	}
}

// TestAlternateIDs: a result goes to its own call when ids come twice, and ids of earlier answers are not given again.
func TestAlternateIDs(t *testing.T) {
	calls := func(ids ...string) store.Message {
		var cs []llm.ToolCall
		for _, id := range ids {
			cs = append(cs, llm.ToolCall{ID: id, Name: "t"})
		}
		raw, err := encodeCalls(cs)
		if err != nil {
			t.Fatal(err)
		}
		return store.Message{Role: "assistant", ToolCalls: raw}
	}
	result := func(id, text string) store.Message {
		return store.Message{Role: "tool", ToolCallID: id, Content: text}
	}
	rows := []store.Message{
		{Role: "user", Content: "u"}, calls("a", "a", ""), result("a", "1"), result("", "3"), result("a", "2"), result("a", "too many"),
		calls("a"), result("a", "4"),
	}
	want := "user: assistant:a,a_2,call_3, tool:a=1 tool:a_2=2 tool:call_3=3 assistant:a_4, tool:a_4=4"
	got := ""
	for _, r := range Alternate(rows) {
		if got != "" {
			got += " "
		}
		got += r.Role + ":"
		for _, c := range decodeCalls(r.ToolCalls) {
			got += c.ID + ","
		}
		if r.Role == "tool" {
			got += r.ToolCallID + "=" + r.Content
		}
	}
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
