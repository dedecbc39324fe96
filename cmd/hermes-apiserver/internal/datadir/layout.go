package datadir

import "path/filepath"

// Layout names every path under one data directory. The root module's controlplane.Layout is the same
// list as seen by whoever starts this process.
type Layout struct{ Dir string }

// Lock is the file whose flock says who runs on this directory.
func (l Layout) Lock() string { return filepath.Join(l.Dir, "apiserver.lock") }

// Format is the file with the format number of the directory.
func (l Layout) Format() string { return filepath.Join(l.Dir, "format") }

// Database is the SQLite file of the store.
func (l Layout) Database() string { return filepath.Join(l.Dir, "db", "state.db") }

// CA is the certificate authority, certificate and key in one PEM file.
func (l Layout) CA() string { return filepath.Join(l.Dir, "pki", "ca.pem") }

// ServerCert is the serving certificate and its key in one PEM file.
func (l Layout) ServerCert() string { return filepath.Join(l.Dir, "pki", "server.pem") }

// ServiceAccountKey signs service account tokens.
func (l Layout) ServiceAccountKey() string { return filepath.Join(l.Dir, "pki", "service-account.pem") }

// Tokens is the static token file.
func (l Layout) Tokens() string { return filepath.Join(l.Dir, "pki", "tokens.csv") }

// Encryption is the encryption provider configuration with the local key.
func (l Layout) Encryption() string { return filepath.Join(l.Dir, "pki", "encryption.yaml") }

// Kubeconfig is the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return filepath.Join(l.Dir, "kubeconfig") }

// GatewayKubeconfig is the kubeconfig of the gateways.
func (l Layout) GatewayKubeconfig() string { return filepath.Join(l.Dir, "gateway.kubeconfig") }

func (l Layout) directories() []string {
	return []string{l.Dir, filepath.Join(l.Dir, "db"), filepath.Join(l.Dir, "pki")}
}
