package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"

	"github.com/google/renameio/v2"
)

// Pair is a certificate with its private key.
type Pair struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// CertPEM is the certificate alone, as clients embed it.
func (p *Pair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Cert.Raw})
}

// sign issues template from parent; a nil parent signs itself.
func sign(template *x509.Certificate, parent *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("generate serial number: %w", err)
	}
	if parent == nil {
		parent = &Pair{Cert: template, Key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.Cert, key.Public(), parent.Key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %q: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parse certificate %q: %w", template.Subject.CommonName, err)
	}
	return &Pair{Cert: cert, Key: key}, nil
}

func (p *Pair) write(path string) error {
	key, err := keyPEM(p.Key)
	if err != nil {
		return err
	}
	return renameio.WriteFile(path, append(p.CertPEM(), key...), 0o600)
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// read returns nil without an error when there is no file at path.
func read(path string) (*Pair, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(bytes.TrimSpace(rest)) {
		switch block.Type {
		case "CERTIFICATE":
			p.Cert, err = x509.ParseCertificate(block.Bytes)
		case "EC PRIVATE KEY":
			p.Key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if p.Cert == nil || p.Key == nil || !p.Key.PublicKey.Equal(p.Cert.PublicKey) {
		return nil, fmt.Errorf("%s does not hold a certificate and its key", path)
	}
	return p, nil
}
