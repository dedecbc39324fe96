package pki

import (
	"bytes"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

var (
	noon     = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	loopback = net.IPv4(127, 0, 0, 1)
)

func authority(t *testing.T, path string, now time.Time) *Pair {
	t.Helper()
	ca, err := EnsureCA(path, now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func TestCAIsKeptUntilNearItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	first := authority(t, path, noon)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v; want mode 0600", info, err)
	}
	for _, tc := range []struct {
		name string
		at   time.Time
		kept bool
	}{
		{"at once", noon, true},
		{"a day before renewal", first.Cert.NotAfter.Add(-RenewBefore - 24*time.Hour), true},
		{"within the renewal window", first.Cert.NotAfter.Add(-RenewBefore), false},
	} {
		got := authority(t, path, tc.at)
		if kept := bytes.Equal(got.Cert.Raw, first.Cert.Raw); kept != tc.kept {
			t.Errorf("%s: kept is %v, want %v", tc.name, kept, tc.kept)
		}
	}
}

func TestDamagedCAIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	ca := authority(t, path, noon)
	if err := os.WriteFile(path, ca.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := EnsureCA(path, noon); refuse.Code(err) != refuse.ExitConfig {
		t.Fatalf("an authority without its key: %v, want a refusal", err)
	}
}

func TestServerCertificate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "server.pem")
	ca := authority(t, filepath.Join(dir, "ca.pem"), noon)
	other := authority(t, filepath.Join(dir, "other.pem"), noon)
	must := func(ca *Pair, ip net.IP, at time.Time) bool {
		t.Helper()
		wrote, err := EnsureServer(path, ca, ip, at)
		if err != nil {
			t.Fatal(err)
		}
		return wrote
	}
	must(ca, loopback, noon)
	cert, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := cert.Cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: noon}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tc := range []struct {
		name  string
		ca    *Pair
		ip    net.IP
		at    time.Time
		wrote bool
	}{
		{"nothing changed", ca, loopback, noon, false},
		{"near its end", ca, loopback, noon.Add(serverLifetime - RenewBefore), true},
		{"from the future", ca, loopback, noon, true},
		{"another authority", other, loopback, noon, true},
		{"another address", other, net.IPv4(127, 0, 0, 9), noon, true},
		{"that address again", other, net.IPv4(127, 0, 0, 9), noon, false},
	} {
		if wrote := must(tc.ca, tc.ip, tc.at); wrote != tc.wrote {
			t.Errorf("%s: wrote is %v, want %v", tc.name, wrote, tc.wrote)
		}
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !must(other, loopback, noon) {
		t.Error("a damaged serving certificate was kept")
	}
}
