package agent_test

import (
	"bytes"
	"testing"

	"hermes.dev/hermes/test/fakemodel"
)

// TestOddBytesKeepThePrefix: what the store gives back after a restart is what was sent before it, whatever bytes
// people and models use.
func TestOddBytesKeepThePrefix(t *testing.T) {
	b := newBench(t)
	b.model.Script(fakemodel.Turn{Text: "nul \x00 in the middle", ToolCalls: []fakemodel.ToolCall{call("a", "list_dir", "{\"path\":\"\x00\"}")}}, fakemodel.Text("ok"), fakemodel.Text("ok"))
	b.mustSay("user nul \x00 and bad utf-8 \xff\xfe and \u2028")
	must(t, b.store.Close())
	b.open(b.model.URL())
	b.mustSay("second")
	rs := b.model.Requests()
	for i := 1; i < len(rs); i++ {
		if before := bytes.TrimSuffix(rs[i-1].Body, []byte("]}")); !bytes.HasPrefix(rs[i].Body, before) {
			t.Fatalf("request %d:\n%q\n%q", i, before, rs[i].Body)
		}
	}
}
