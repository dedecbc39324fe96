package statusview

import (
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
)

// What hermes up --manifests cannot apply needs attention, stands before everything else, and makes no second namespace.
func TestManifestsNeedAttention(t *testing.T) {
	s := Snapshot{
		Manifests: []Manifest{
			{At: "/m/bad.yaml:3 (document 1)", Reason: "ManifestNotApplied", Message: "kind is missing", Since: now.Add(-time.Minute)},
			{Reason: "ManifestNotApplied", Message: "profile.hermes.dev/x: is protected"},
		},
		Gateways: []v1alpha1.Gateway{{ObjectMeta: object("g")}},
	}
	view := New(s, plane(), now)
	if view.SeveralNamespaces() {
		t.Error("a file is in no namespace")
	}
	text := Render(view, Options{Terminal: Terminal{Width: NoLimit}, Now: now})
	lines := strings.Split(text, "\n")
	for i, want := range []string{"", "", "KIND", "Manifest", "Manifest", "Gateway"} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Fatalf("line %d is not about %q:\n%s", i, want, text)
		}
	}
	for _, want := range []string{"/m/bad.yaml:3 (document 1): kind is missing", "1m", "profile.hermes.dev/x: is protected", "3 of 3 need attention"} {
		if !strings.Contains(text, want) {
			t.Errorf("status does not show %q:\n%s", want, text)
		}
	}
	o := JSON(view).Objects[1]
	if o.Kind != "Manifest" || o.Name != "bad.yaml:3 (document 1)" || o.Since == nil || o.Verdict != NotReady {
		t.Errorf("JSON: %+v", o)
	}
}
