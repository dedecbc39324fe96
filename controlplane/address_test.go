package controlplane_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"hermes.dev/hermes/controlplane"
)

func TestChooseAddressRemembers(t *testing.T) {
	dir := t.TempDir()
	first, err := controlplane.ChooseAddress(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(first)
	if err != nil || host != "127.0.0.1" || port == "0" {
		t.Fatalf("chose %q, want a free port on 127.0.0.1", first)
	}
	for range 3 {
		again, err := controlplane.ChooseAddress(dir, "")
		if err != nil || again != first {
			t.Fatalf("second choice %q, %v; want the remembered %q", again, err, first)
		}
	}
	if got, err := controlplane.ChooseAddress(dir, "127.0.0.1:4711"); err != nil || got != "127.0.0.1:4711" {
		t.Fatalf("explicit address gave %q, %v", got, err)
	}
	if got, _ := controlplane.ChooseAddress(dir, ""); got != "127.0.0.1:4711" {
		t.Fatalf("explicit address was not remembered, got %q", got)
	}
	info, err := os.Stat(controlplane.Layout{Dir: dir}.Address())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("address file: %v, %v; want mode 0600", info, err)
	}
}

func TestChooseAddressRefuses(t *testing.T) {
	for _, tc := range []struct{ want, says string }{
		{"0.0.0.0:1234", "not a loopback address: use 127.0.0.1:1234"},
		{"192.0.2.1:1234", "not a loopback address"},
		{"example.com:1", "not a loopback address"},
		{"1234", "not HOST:PORT"},
	} {
		dir := t.TempDir()
		_, err := controlplane.ChooseAddress(dir, tc.want)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: error %v, want one that says %q", tc.want, err, tc.says)
		}
		if _, err := os.Stat(controlplane.Layout{Dir: dir}.Address()); err == nil {
			t.Errorf("%q: a refused address was remembered", tc.want)
		}
	}
}
