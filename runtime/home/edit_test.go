package home

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSetConfigBool: one key changes, what a person wrote stays, and a managed home is left alone.
func TestSetConfigBool(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no file":    {"", "gateway:\n    multiplex_profiles: true\n"},
		"kept":       {"# mine\nmodel: x # y\ngateway:\n    standalone: false\n", "# mine\nmodel: x # y\ngateway:\n    standalone: false\n    multiplex_profiles: true\n"},
		"changed":    {"gateway:\n    multiplex_profiles: false\n", "gateway:\n    multiplex_profiles: true\n"},
		"null":       {"gateway:\n", "gateway:\n    multiplex_profiles: true\n"},
		"set before": {"gateway: {multiplex_profiles: true}\n", "gateway: {multiplex_profiles: true}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if c.before != "" {
				if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := SetConfigBool(path, true, "gateway", "multiplex_profiles"); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(path); string(got) != c.after {
				t.Errorf("got %q, want %q", got, c.after)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("gateway: [x]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SetConfigBool(path, true, "gateway", "multiplex_profiles"); err == nil {
		t.Error("a list was taken for a mapping")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), recordName), (&record{Version: BundleVersion}).encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SetConfigBool(path, true, "x"); !errors.Is(err, ErrManagedHome) {
		t.Errorf("a managed home: %v", err)
	}
}
