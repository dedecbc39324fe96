package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// A home that a command of the agent changed is seen by a look and put right by the next pass, without the API server.
func TestDriftIsPutRight_N21(t *testing.T) {
	a := &profileAgent{Options: Options{Root: t.TempDir(), Clock: clock.RealClock{}, Log: logr.Discard()}, written: map[string]writtenHome{}}
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "alice", UID: "u"}}
	b := home.Bundle{
		Version: home.BundleVersion, Namespace: "default", Profile: "alice", Gateway: "gw", UID: "u",
		Config: map[string]any{"approvals": map[string]any{"mode": "ask"}}, Env: []home.EnvEntry{{Name: "TOKEN", Value: "declared"}},
	}
	write := func() {
		t.Helper()
		if err := a.write(t.Context(), p, b, b.Hash()); err != nil {
			t.Fatal(err)
		}
		if names := a.drifted(); len(names) != 0 {
			t.Fatalf("just written and drifted: %v", names)
		}
	}
	write()
	dir := filepath.Join(a.Root, "profiles", "alice")
	for name, c := range map[string]struct{ text, want string }{
		"config.yaml": {"approvals: {mode: allow}\nmine: 1\n", "mode: ask"},
		".env":        {"TOKEN=mine\n", "declared"},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if names := a.drifted(); len(names) != 1 || names[0] != "alice" {
			t.Errorf("%s was changed, drifted: %v", name, names)
		}
		write()
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(raw), c.want) {
			t.Errorf("%s = %q, %v", name, raw, err)
		}
	}
	// What cannot be put right is left to the open profile to tell, and looked at once.
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	write()
}
