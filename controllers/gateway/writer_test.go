package gateway

import (
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/api/v1alpha1"
)

// TestServedSetEndsWithTheProcess: what a process said it serves does not outlive it, and is its own word while it runs.
func TestServedSetEndsWithTheProcess(t *testing.T) {
	r := &Reconciler{Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	gw := &v1alpha1.Gateway{}
	gw.Status.ServedProfiles, gw.Status.Profiles = new(int32(3)), []string{"a", "b", "c"}

	fields := map[string]any{}
	owned := r.writer(&scope{gateway: gw}, fields).Owned.Fields
	if fields["servedProfiles"] != 0 || fields["profiles"] == nil || !slices.Contains(owned, "servedProfiles") || !slices.Contains(owned, "profiles") {
		t.Errorf("nothing runs: fields %v, owned %v", fields, owned)
	}

	s := &scope{gateway: gw}
	s.observe.Instance = &v1alpha1.GatewayInstance{ID: "run"}
	fields = map[string]any{}
	owned = r.writer(s, fields).Owned.Fields
	if len(fields) != 0 || slices.Contains(owned, "servedProfiles") || slices.Contains(owned, "profiles") {
		t.Errorf("a process runs: fields %v, owned %v", fields, owned)
	}
}
