package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/host"
)

// options of a gateway that reports to nobody; short paths, because sockets have short names.
func options(t *testing.T) Options {
	t.Helper()
	home, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return Options{
		Home: home, Namespace: "default", Name: "default", RunID: "run", LockDir: LockDir(home), TempDir: os.TempDir(),
		Supervisor: host.SupervisorExternal, Clock: clock.RealClock{}, Log: logr.Discard(),
	}
}

// TestRefusals: a gateway that cannot run as it is ends with a reason that its supervisor can show, and leaves the home free.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, o Options)
		reason  string
		code    int
	}{
		"somebody's home": {func(t *testing.T, o Options) { write(t, filepath.Join(o.Home, "config.yaml"), "model: x\n") }, v1alpha1.ReasonHomeNotOurs, ExitConfiguration},
		"another gateway": {func(t *testing.T, o Options) {
			claimed := host.ClaimHome(o.Home, host.NewPIDRecord(o.Home, nil), logr.Discard())
			if claimed.Outcome != host.Acquired {
				t.Fatal(claimed.Err)
			}
			t.Cleanup(func() { _ = claimed.Claim.Release() })
		}, v1alpha1.ReasonHostOwnedElsewhere, ExitTemporary},
		"a directory in the control socket's place": {func(t *testing.T, o Options) {
			write(t, filepath.Join(o.Home, host.SocketFileName, "x"), "")
		}, v1alpha1.ReasonHomeUnwritable, ExitTemporary},
		"a directory in the API socket's place": {func(t *testing.T, o Options) {
			write(t, filepath.Join(o.Home, "gateway-api.sock", "x"), "")
		}, v1alpha1.ReasonHomeUnwritable, ExitTemporary},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			c.prepare(t, o)
			err := Run(context.Background(), o)
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Reason != c.reason || refusal.Code != c.code {
				t.Fatalf("Run = %v, want %s with code %d", err, c.reason, c.code)
			}
			if line := refusal.Line(); !strings.HasPrefix(line, "hermes-refusal: "+c.reason+": ") || strings.Contains(line, "\n") {
				t.Errorf("line = %q", line)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
