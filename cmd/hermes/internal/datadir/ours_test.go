package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
)

// somebodyElses is a data directory of another user: root makes one over, everybody else is not root.
func somebodyElses(t *testing.T, part string) Dir {
	t.Helper()
	if os.Geteuid() != 0 {
		return "/"
	}
	d := Dir(t.TempDir())
	if err := os.Mkdir(d.ControlPlane().Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.ControlPlane().Kubeconfig(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(string(d), part), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestOurs: nobody works in somebody else's data directory, root neither.
func TestOurs(t *testing.T) {
	for _, part := range []string{"", "controlplane", "controlplane/kubeconfig"} {
		d := somebodyElses(t, part)
		err := d.Ours()
		if exit.Code(err) != exit.Refused || !strings.Contains(err.Error(), string(d)) || !strings.Contains(err.Error(), " belongs to ") ||
			!strings.Contains(err.Error(), ": run it as ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v (exit %d)", part, err, exit.Code(err))
		}
		if _, err := Detect("", string(d), env(nil)); exit.Code(err) != exit.Refused {
			t.Errorf("%q: Detect: %v", part, err)
		}
		kubeconfig := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(kubeconfig, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Detect(kubeconfig, string(d), env(nil)); err != nil {
			t.Errorf("%q: a kubeconfig that was named needs no data directory: %v", part, err)
		}
	}
	mine := Dir(filepath.Join(t.TempDir(), "none"))
	if err := mine.Ours(); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
	if err := mine.Create(); err != nil {
		t.Fatal(err)
	}
	if err := mine.Ours(); err != nil {
		t.Errorf("my own: %v", err)
	}
}
