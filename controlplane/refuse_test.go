package controlplane_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/controlplane"
)

// refused starts a control plane that must not start, and returns why.
func refused(t *testing.T, o controlplane.Options) *controlplane.ExitError {
	t.Helper()
	o.Binary, o.Log = binary(t), logr.Discard()
	s, err := controlplane.Start(t.Context(), o)
	if err == nil {
		_ = s.Stop(t.Context())
		t.Fatal("it started")
	}
	exit := (*controlplane.ExitError)(nil)
	if !errors.As(err, &exit) {
		t.Fatalf("error %v is not an ExitError", err)
	}
	if strings.Contains(exit.Reason, "\n") {
		t.Errorf("the reason has more than one line: %q", exit.Reason)
	}
	return exit
}

func TestSecondInstanceNamesTheOwner(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	exit := refused(t, controlplane.Options{DataDir: dir})
	if exit.Code != controlplane.ExitBusy || !exit.Busy() {
		t.Errorf("exit code %d, want %d", exit.Code, controlplane.ExitBusy)
	}
	if want := fmt.Sprintf("process %d (since ", first.PID()); !strings.Contains(exit.Reason, want) {
		t.Errorf("reason %q does not name the owner %q", exit.Reason, want)
	}
	if err := first.Err(); err != nil {
		t.Errorf("the first one ended: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was sent

	for _, tc := range []struct {
		name    string
		address string
		prepare func(t *testing.T, dir string)
		says    []string
	}{
		{name: "port in use", address: taken.Addr().String(), says: []string{taken.Addr().String(), "address already in use", "choose another --address"}},
		{name: "every interface", address: "0.0.0.0:0", says: []string{"not a loopback address", "use 127.0.0.1:0"}},
		{name: "a name", address: "example.com:80", says: []string{"not a loopback address"}},
		{name: "no port", address: "127.0.0.1", says: []string{"not HOST:PORT"}},
		{name: "a port that is none", address: "127.0.0.1:99999", says: []string{"not a number from 0 to 65535"}},
		{name: "newer format", prepare: write("format", "2\n"), says: []string{"format 2", "install a newer hermes"}},
		{name: "damaged format", prepare: write("format", "x\n"), says: []string{"not a format number"}},
		{name: "unwritable", prepare: block("db"), says: []string{"cannot be used", "choose another --data-dir"}},
		{name: "damaged authority", prepare: write("pki/ca.pem", "x"), says: []string{"certificate authority", "remove it"}},
		{name: "damaged tokens", prepare: write("pki/tokens.csv", "a,b,c\n"), says: []string{"tokens.csv", "remove the file"}},
		{name: "lost encryption key", prepare: write("db/state.db", "x"), says: []string{"encryption key", "restore the key"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.prepare != nil {
				tc.prepare(t, dir)
			}
			exit := refused(t, controlplane.Options{DataDir: dir, Address: tc.address})
			if exit.Code != controlplane.ExitConfig || !exit.Refused() {
				t.Errorf("exit code %d, want %d", exit.Code, controlplane.ExitConfig)
			}
			for _, want := range tc.says {
				if !strings.Contains(exit.Reason, want) {
					t.Errorf("reason %q does not say %q", exit.Reason, want)
				}
			}
		})
	}
}

func write(name, content string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// block puts a file where a directory is wanted. Permissions would not stop a test that runs as root.
func block(name string) func(*testing.T, string) { return write(name, "") }
