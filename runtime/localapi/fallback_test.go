package localapi_test

import (
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/profilehome"
)

// TestFallbackIsAnEvent: a client hears that another model answers, and why, before it does.
func TestFallbackIsAnEvent(t *testing.T) {
	r := newRig(t)
	r.model.AllowKeys("none of ours")
	spec := profilehome.Model(r.model.URL(), "sk-alice")
	spec.Config["fallback_providers"] = []any{map[string]any{"provider": "demo", "model": "script"}}
	r.openProfile("alice", spec)
	var kinds []string
	why := ""
	final, err := r.client.Stream(ctx(t), say(idOf("fallback"), "hello"), func(i localapi.StreamItem) {
		if i.Event != nil {
			kinds = append(kinds, i.Event.Type)
			if i.Event.Type == "fallback" {
				why = i.Event.Summary
			}
		}
	})
	must(t, err)
	if !strings.Contains(final.Reply, "scripted demo") || !strings.HasPrefix(why, "answering with demo/script because custom/fake-1 failed: 401") || strings.Contains(why, "sk-alice") {
		t.Errorf("%q after %v: %q", final.Reply, kinds, why)
	}
}
