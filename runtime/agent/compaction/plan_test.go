package compaction

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/store"
)

// text has exactly n tokens by the estimate, the overhead of a row left out.
func text(n int64) string { return strings.Repeat("abcd", int(n)) }

func user(s string) store.Message   { return store.Message{Role: llm.RoleUser, Content: s} }
func answer(s string) store.Message { return store.Message{Role: llm.RoleAssistant, Content: s} }

func calling(ids ...string) store.Message {
	var calls []map[string]any
	for _, id := range ids {
		calls = append(calls, map[string]any{"id": id, "type": "function", "function": map[string]string{"name": "read_file", "arguments": `{"path":"` + id + `"}`}})
	}
	raw, err := json.Marshal(calls)
	if err != nil {
		panic(err)
	}
	return store.Message{Role: llm.RoleAssistant, ToolCalls: raw}
}

func result(id, s string) store.Message {
	return store.Message{Role: llm.RoleTool, ToolCallID: id, ToolName: "read_file", Content: s}
}

func numbered(rows []store.Message) []store.Message {
	for i := range rows {
		rows[i].ID = int64(i + 1)
	}
	return rows
}

// probe is the reference probe of S-406 without its system row: 12 turns of a question (14 tokens), a call, a long
// result, and an answer, 1,065 tokens each, 12,780 together.
func probe() []store.Message {
	var rows []store.Message
	for i := range 12 {
		id := fmt.Sprintf("c%02d", i)
		rows = append(rows, user(text(10)), calling(id), result(id, text(956)), answer(text(1065-14-960-Tokens(calling(id))-4)))
	}
	return numbered(rows)
}

// TestS406Probe pins the figures of the reference probe. Its rows are numbered with the system prompt as row 0, which
// is no stored row here.
func TestS406Probe(t *testing.T) {
	rows := probe()
	if total := TotalTokens(rows); total != 12_780 {
		t.Fatalf("the probe has %d tokens", total)
	}
	for _, c := range []struct {
		window      int64
		tokens      int64
		rows        int
		first, last int
	}{
		{8_192, 2_116, 7, 4, 41}, {16_384, 4_246, 15, 4, 33}, {32_768, 7_441, 27, 4, 21},
	} {
		p := Divide(rows, c.window, Defaults())
		if p.TailTokens != c.tokens || len(p.Tail) != c.rows || len(p.Anchors) != 0 {
			t.Errorf("S-406 W=%d: tail %d tokens, %d rows, %d anchors; want %d, %d", c.window, p.TailTokens, len(p.Tail), len(p.Anchors), c.tokens, c.rows)
		}
		if first, last := p.Replace[0].ID, p.Replace[len(p.Replace)-1].ID; int(first) != c.first || int(last) != c.last {
			t.Errorf("S-406 W=%d: rows %d-%d are compressible, want %d-%d", c.window, first, last, c.first, c.last)
		}
		if share := float64(p.TailTokens) / float64(c.window); share > 0.30 || c.window == 8192 && len(p.Replace)*2 <= len(rows) {
			t.Errorf("T-323 W=%d: tail is %.2f of it, %d of %d rows compressible", c.window, share, len(p.Replace), len(rows))
		}
	}
}

func TestDivide(t *testing.T) {
	long := text(5_000)
	summary := store.Message{Role: llm.RoleUser, Content: "s", CompressedSummary: true, DisplayKind: displayNotice}
	for _, c := range []struct {
		name   string
		rows   []store.Message
		window int64
		want   string // the rows' letters by part: head|replace|anchors|tail
	}{
		{"nothing", nil, 8_192, "|||"},
		{"a short session stays", []store.Message{user("a"), answer("b"), user("c"), answer("d")}, 8_192, "uau|||a"},
		{"S-404 the last question of a long turn is an anchor",
			[]store.Message{user("1"), answer("2"), user("3"), answer("4"), user("5"), calling("a"), result("a", long), calling("b"), result("b", long)}, 8_192,
			"uau|ct|au|ct"},
		{"S-404 an atomic group exceeds the bound whole",
			[]store.Message{user("1"), answer("2"), user("3"), answer("4"), user("5"), calling("a", "b", "c"), result("a", long), result("b", long), result("c", "x")}, 8_192,
			"uau||au|cttt"},
		{"the head takes its results with it",
			[]store.Message{user("1"), calling("a", "b"), result("a", "x"), result("b", "x"), answer("4"), user("5"), answer(long)}, 8_192,
			"uctt|a|u|a"},
		{"an earlier summary is replaced and never protected",
			[]store.Message{user("1"), answer("b"), summary, answer("3"), user("4"), answer(long), user("5"), answer("6")}, 8_192,
			"ua|Saua||ua"},
		{"the tail ends at the newest summary",
			[]store.Message{user("1"), answer("b"), user("2"), answer("x"), summary, answer("3"), user("4")}, 8_192, "uau|aS||au"},
		{"P-32 a message of another session is no anchor",
			[]store.Message{user("1"), answer("2"), user("3"), answer("4"), user("5"), {Role: "user", Content: "peer", DisplayKind: "peer_message"}, answer(long), answer(long)}, 8_192,
			"uau|apa|u|a"},
		{"a steering message is",
			[]store.Message{user("1"), answer("2"), user("3"), answer("4"), user("5"), calling("a"), result("a", long), {Role: "user", Content: "also", DisplayKind: "steer"}, calling("b"), result("b", long)}, 8_192,
			"uau|auct|U|ct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Divide(numbered(c.rows), c.window, Defaults())
			if got := letters(p.Head) + "|" + letters(p.Replace) + "|" + letters(p.Anchors) + "|" + letters(p.Tail); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func letters(rows []store.Message) string {
	var b strings.Builder
	for _, r := range rows {
		switch {
		case r.CompressedSummary && r.Role == llm.RoleUser:
			b.WriteByte('S')
		case r.CompressedSummary:
			b.WriteByte('B')
		case r.DisplayKind == displaySteer:
			b.WriteByte('U')
		case r.DisplayKind != "":
			b.WriteByte('p')
		case callsTools(r):
			b.WriteByte('c')
		default:
			b.WriteByte(r.Role[0])
		}
	}
	return b.String()
}

// randomSession is a legal session: questions, rounds of one to four calls, answers, and turns that were cut short.
func randomSession(rnd *rand.Rand) []store.Message {
	var rows []store.Message
	size := func() int64 { return []int64{1, 20, 300, 1_000, 3_000}[rnd.IntN(5)] }
	for turn := range 1 + rnd.IntN(14) {
		rows = append(rows, user(text(size())))
		for round := range rnd.IntN(6) {
			var ids []string
			for call := range 1 + rnd.IntN(4) {
				ids = append(ids, fmt.Sprintf("%d-%d-%d", turn, round, call))
			}
			rows = append(rows, calling(ids...))
			for _, id := range ids {
				rows = append(rows, result(id, text(size())))
			}
		}
		rows = append(rows, answer(text(size())))
	}
	switch rnd.IntN(3) {
	case 0:
		rows = append(rows, user("now"))
	case 1:
		rows = append(rows, user("now"), calling("z"), result("z", text(size())))
	}
	return numbered(rows)
}

// illegal says what is wrong with rows by L2.
func illegal(rows []store.Message) error {
	previous, open := llm.RoleAssistant, map[string]bool{}
	for i, r := range rows {
		if r.Role == llm.RoleTool {
			if !open[r.ToolCallID] {
				return fmt.Errorf("row %d is a result of nothing", i)
			}
			delete(open, r.ToolCallID)
			previous = llm.RoleTool
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("row %d follows calls without results", i)
		}
		if r.Role == llm.RoleUser && previous != llm.RoleAssistant || r.Role == llm.RoleAssistant && previous == llm.RoleAssistant && i > 0 {
			return fmt.Errorf("row %d: %s follows %s", i, r.Role, previous)
		}
		var calls []struct{ ID string }
		_ = json.Unmarshal(r.ToolCalls, &calls)
		for _, c := range calls {
			open[c.ID] = true
		}
		previous = r.Role
	}
	return nil
}

// TestPlanProperties: whatever the session and the window, the new generation is legal, keeps groups whole and rows in
// order, holds what the person said last, keeps to the ceiling but for the exceptions, and cannot be compacted again.
func TestPlanProperties(t *testing.T) {
	summarised := 0
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		rows := randomSession(rnd)
		window := []int64{0, 4_096, 8_192, 16_384, 32_768, 131_072, 1_000_000}[rnd.IntN(7)]
		s := Defaults()
		s.ProtectFirstN, s.MinTailUserMessages = rnd.IntN(6), rnd.IntN(3)
		p := Divide(rows, window, s)
		if n := len(p.Head) + len(p.Replace) + len(p.Anchors) + len(p.Tail); n != len(rows) {
			t.Fatalf("seed %d: %d rows in the parts, %d before", seed, n, len(rows))
		}
		if !p.Summarises() {
			continue
		}
		summarised++
		before := slices.Clone(rows)
		next := p.Generation(Summary(p, "what happened", 1_000), false)
		if !reflect.DeepEqual(rows, before) {
			t.Fatalf("seed %d: the plan's rows changed", seed)
		}
		if err := illegal(next); err != nil {
			t.Fatalf("seed %d W=%d: %v\n%s\n%s|%s|%s|%s", seed, window, err, letters(next), letters(p.Head), letters(p.Replace), letters(p.Anchors), letters(p.Tail))
		}
		checkCeiling(t, seed, p)
		checkKept(t, seed, rows, next)
		again := Divide(numbered(next), window, s)
		if again.Summarises() {
			t.Fatalf("seed %d W=%d: a second pass would replace %s of %s", seed, window, letters(again.Replace), letters(next))
		}
		if second := again.Generation(nil, false); TotalTokens(second) > TotalTokens(next) || !reflect.DeepEqual(letters(second), letters(next)) {
			t.Fatalf("seed %d: a second pass changes %s into %s", seed, letters(next), letters(second))
		}
	}
	if summarised < 150 {
		t.Errorf("only %d plans summarised anything", summarised)
	}
}

// checkCeiling: without its first group, or its only row, the tail keeps to the soft ceiling (S-403, S-404).
func checkCeiling(t *testing.T, seed uint64, p Plan) {
	t.Helper()
	ceiling := p.settings.SoftCeiling(p.window)
	if p.TailTokens <= ceiling || len(p.Tail) == 0 {
		return
	}
	rest := p.Tail[1:]
	for len(rest) > 0 && rest[0].Role == llm.RoleTool {
		rest = rest[1:]
	}
	if got := TotalTokens(rest); got > ceiling && len(rest) > 1 { // the newest row alone may be larger
		t.Fatalf("S-403 seed %d: %d tokens behind the first group, ceiling %d", seed, got, ceiling)
	}
}

// checkKept: the newest row and the person's last message are still there, and rows kept their order.
func checkKept(t *testing.T, seed uint64, rows, next []store.Message) {
	t.Helper()
	last, said := rows[len(rows)-1].ID, int64(0)
	for _, r := range rows {
		if fromPerson(r) {
			said = r.ID
		}
	}
	order, foundLast, foundSaid := int64(0), false, false
	for _, r := range next {
		if r.ID == 0 {
			continue
		}
		if r.ID <= order {
			t.Fatalf("seed %d: row %d after row %d", seed, r.ID, order)
		}
		order = r.ID
		foundLast, foundSaid = foundLast || r.ID == last, foundSaid || r.ID == said
	}
	if !foundLast || !foundSaid {
		t.Fatalf("S-404 seed %d: newest row kept %v, last message kept %v", seed, foundLast, foundSaid)
	}
}

// TestS404CountFloor: at 128 K the tail has 10,000 tokens; the row that crosses them is taken whole, and so are rows up
// to the count floor, while the ceiling of 15,000 allows.
func TestS404CountFloor(t *testing.T) {
	for _, c := range []struct {
		each     int64
		protectN int
		want     int
	}{
		{1_000, 20, 10}, {1_000, 0, 10}, {3_000, 0, 4}, {2_000, 20, 7}, {2_000, 6, 6}, {2_000, 0, 5}, {1_300, 20, 8}, {1_800, 20, 8}, {16_000, 20, 1},
	} {
		var rows []store.Message
		for range 15 {
			rows = append(rows, user(text(c.each-rowOverhead)), answer(text(c.each-rowOverhead)))
		}
		s := Defaults()
		s.ProtectLastN = c.protectN
		if p := Divide(numbered(rows), 131_072, s); len(p.Tail) != c.want {
			t.Errorf("S-404 rows of %d tokens, protect_last_n %d: a tail of %d rows, want %d", c.each, c.protectN, len(p.Tail), c.want)
		}
	}
}
