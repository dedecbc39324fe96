package compaction

import (
	"fmt"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/store"
)

// TestS407AgedResults: long results older than the newest six rounds become stubs for the model and stay for people.
func TestS407AgedResults(t *testing.T) {
	var rows []store.Message
	for i := range 9 {
		id := fmt.Sprint(i)
		size := 1_501
		if i == 1 {
			size = 1_500
		}
		rows = append(rows, calling(id), result(id, strings.Repeat("x", size)))
	}
	ageOut(rows)
	for i := range 9 {
		r := rows[2*i+1]
		if stubbed := r.APIContent != ""; stubbed != (i == 0 || i == 2) {
			t.Errorf("S-407 result %d: stub %q", i, r.APIContent)
		}
		if len(r.Content) < 1_500 {
			t.Errorf("result %d lost its text for people", i)
		}
	}
	if !strings.Contains(rows[1].APIContent, "read_file returned 1501 characters; call it again") {
		t.Error(rows[1].APIContent)
	}
}

// TestS407Pressure: under pressure the oldest results go first, only as many as needed, the newest 3 rows never.
func TestS407Pressure(t *testing.T) {
	tail := func() []store.Message {
		var rows []store.Message
		for i := range 4 {
			id := fmt.Sprint(i)
			rows = append(rows, calling(id), result(id, text(1_000)))
		}
		return rows
	}
	stubs := func(rows []store.Message) (out string) {
		for i := 1; i < len(rows); i += 2 {
			if rows[i].APIContent == "" {
				out += "."
			} else {
				out += "x"
			}
		}
		return out
	}
	for _, c := range []struct {
		ceiling int64
		want    string
	}{{10_000, "...."}, {3_500, "x..."}, {2_500, "xx.."}, {100, "xx.."}} {
		rows := tail()
		demote(rows, c.ceiling)
		if got := stubs(rows); got != c.want {
			t.Errorf("S-407 ceiling %d: %s, want %s", c.ceiling, got, c.want)
		}
		if c.ceiling == 100 {
			clipNewest(rows, 1_500)
			if got := stubs(rows); got != "xxx." || !strings.Contains(rows[5].APIContent, "2800 characters of this tool output") || TotalTokens(rows) > 1_500 {
				t.Errorf("the last resort gives %s, %d tokens: %s", got, TotalTokens(rows), rows[5].APIContent)
			}
		}
	}
}
