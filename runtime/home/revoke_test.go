package home

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// TestRevoke: the last home keeps its configuration and files, and loses every value that its source no longer gives.
func TestRevoke(t *testing.T) {
	key := func(k string) *v1alpha1.ValueSource {
		return &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.SecretKeyRef{Name: "s", Key: k}}
	}
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "alice", UID: "u"}}
	p.Spec.GatewayRef.Name = "default"
	p.Spec.Model = v1alpha1.ModelSpec{Provider: "openai", Name: "m", Credentials: []v1alpha1.ModelCredential{{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "s", Key: "api"}}}}
	p.Spec.Env = []v1alpha1.EnvVar{{Name: "TOKEN", ValueFrom: key("token")}, {Name: "PLAIN", Value: new("x")}}
	p.Spec.Identity = &v1alpha1.IdentitySpec{SoulFrom: key("soul")}
	p.Spec.HomeFiles = map[string]v1alpha1.FileSource{"notes.md": {From: key("notes")}, "own.md": {Content: new("mine")}}
	all := map[string][]byte{"api": []byte("K"), "token": []byte("T"), "soul": []byte("S"), "notes": []byte("N")}
	last, err := Render(p, Resolved{Secrets: map[string]map[string][]byte{"s": all}})
	if err != nil {
		t.Fatal(err)
	}

	if same := Revoke(last, p, Resolved{Secrets: map[string]map[string][]byte{"s": all}}); same.Hash() != last.Hash() {
		t.Error("a home whose values are all there changed")
	}
	rotated := map[string][]byte{"api": []byte("K2"), "token": []byte("T"), "soul": []byte("S"), "notes": []byte("N")}
	if got := Revoke(last, p, Resolved{Secrets: map[string]map[string][]byte{"s": rotated}}); !slices.Contains(got.Env, EnvEntry{Name: "HERMES_MODEL_API_KEY", Value: "K2"}) {
		t.Errorf("a rotated key is not used: %v", got.Env)
	}
	got := Revoke(last, p, Resolved{})
	if len(got.Env) != 1 || got.Env[0].Name != "PLAIN" {
		t.Errorf("variables after revocation: %v, want PLAIN alone", got.Env)
	}
	if len(got.HomeFiles) != 1 || string(got.HomeFiles["own.md"]) != "mine" {
		t.Errorf("files after revocation: %v, want own.md alone", got.HomeFiles)
	}
	if len(got.Missing) != 4 {
		t.Errorf("missing: %v, want four references", got.Missing)
	}
	if len(last.HomeFiles) != 3 {
		t.Error("Revoke changed its argument")
	}
}
