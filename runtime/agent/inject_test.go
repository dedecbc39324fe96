package agent_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/test/fakemodel"
)

// TestInjectedIsNotHistory: L4, with and without injected context the stored rows are the same, and so are the requests
// but for it; the turn after it knows nothing of it.
func TestInjectedIsNotHistory(t *testing.T) {
	var rows [2][]string
	var requests [2][]fakemodel.Request
	for i, inject := range [][]string{nil, {"It is raining.", "The calendar is empty."}} {
		b := newBench(t)
		b.model.Script(fakemodel.Calls(call("1", "list_dir", `{}`)), fakemodel.Text("one"), fakemodel.Text("two"))
		_, err := b.loop.Run(context.Background(), agent.Turn{SessionID: "s", Source: "cli", UserText: "go", Inject: inject}, nil)
		must(t, err)
		b.mustSay("more")
		rows[i], requests[i] = b.rows(), b.model.Requests()
		for _, r := range requests[i] {
			legal(t, r.Parsed.Decoded())
		}
	}
	if !slices.Equal(rows[0], rows[1]) {
		t.Errorf("L4 rows without %q\nand with %q", rows[0], rows[1])
	}
	const text = "It is raining.\n\nThe calendar is empty."
	for i, r := range requests[1] {
		plain, with := requests[0][i].Parsed.Decoded(), r.Parsed.Decoded()
		last := with[len(with)-1]
		switch {
		case i == 0 && last.Content != "go\n\n"+text, i == 1 && (last.Role != "user" || last.Content != text):
			t.Errorf("L4 request %d ends with %+v", i, last)
		case i == 2 && !bytes.Equal(r.Body, requests[0][i].Body):
			t.Errorf("L4 the next turn was asked\n%s\nwithout injection\n%s", r.Body, requests[0][i].Body)
		case i == 1 && !reflect.DeepEqual(with[:len(with)-1], plain):
			t.Errorf("L4 the history of request 1 is %+v, without injection %+v", with, plain)
		case i == 1 && len(with) != len(plain)+1, i != 1 && len(with) != len(plain):
			t.Errorf("L4 request %d has %d messages, %d without injection", i, len(with), len(plain))
		}
	}
}
