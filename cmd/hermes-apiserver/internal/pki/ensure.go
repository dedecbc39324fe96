package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

const (
	caLifetime     = 10 * 365 * 24 * time.Hour
	serverLifetime = 365 * 24 * time.Hour
	// RenewBefore is how long before its end a certificate is replaced. It is longer than any plausible
	// pause between two checks of a machine that sleeps.
	RenewBefore = 90 * 24 * time.Hour
	// skew tolerates a clock that is set back after the first start: by a mistaken date, or on a board without a battery.
	skew = 31 * 24 * time.Hour
)

// EnsureCA reads the authority at path, or creates it when it is missing or near its end. A file that is
// there but cannot be read is refused: replacing it would lock out every client that trusts it.
func EnsureCA(path string, now time.Time) (*Pair, error) {
	ca, err := read(path)
	if err != nil {
		return nil, refuse.Config("certificate authority: %w: restore the file, or remove it to have a new one made", err)
	}
	if ca != nil && now.Add(RenewBefore).Before(ca.Cert.NotAfter) {
		return ca, nil
	}
	ca, err = sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "hermes-apiserver"},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(caLifetime),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil)
	if err != nil {
		return nil, err
	}
	return ca, ca.write(path)
}

// EnsureServer makes sure that path holds a serving certificate which ca signed, which covers localhost,
// both loopback addresses and ip, and which is not near its end. It reports whether it wrote a new one.
func EnsureServer(path string, ca *Pair, ip net.IP, now time.Time) (bool, error) {
	// An unreadable serving certificate is simply replaced: clients trust the authority, not this file.
	if current, err := read(path); err == nil && current != nil && serves(current, ca, ip, now) {
		return false, nil
	}
	p, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "localhost"},
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(serverLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, ip},
	}, ca)
	if err != nil {
		return false, err
	}
	return true, p.write(path)
}

func serves(p, ca *Pair, ip net.IP, now time.Time) bool {
	return p.Cert.CheckSignatureFrom(ca.Cert) == nil &&
		p.Cert.VerifyHostname(ip.String()) == nil &&
		now.Add(RenewBefore).Before(p.Cert.NotAfter) && !now.Before(p.Cert.NotBefore)
}

// EnsureKey makes sure that path holds a private key, as the service account signer wants it.
func EnsureKey(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generate key: %w", err)
	}
	raw, err := keyPEM(key)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, raw, 0o600)
}
