package sessions

import (
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/localapi"
)

// What was delegated shows with its session, whatever a goal is made of, and a notice is not shown as a person's.
func TestShowDelegations(t *testing.T) {
	done := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var b strings.Builder
	err := Show(&b, localapi.SessionDetail{
		SessionInfo: localapi.SessionInfo{ID: "p"},
		Delegations: []localapi.DelegationInfo{
			{ID: "deleg_2", State: "running", Delivery: "pending", Goals: []string{"count\x1b[2J"}, Children: []string{"c2"}},
			{
				ID: "deleg_1", State: "unknown", Delivery: "delivered", CompletedAt: &done, Goals: []string{"a", "b"}, Children: []string{"c0", "c1"},
				Results: []delegation.Result{{TaskIndex: 0, Status: "completed"}},
			},
		},
		Transcript: []localapi.TranscriptRow{{Role: "user", Display: "notice", Content: "it ended"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deleg_2 running, since ", "deleg_1 unknown, told\n", "- completed: a  hermes sessions show c0\n", "- unknown: b  hermes sessions show c1\n", "] notice\nit ended"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("%q", b.String())
	}
}
