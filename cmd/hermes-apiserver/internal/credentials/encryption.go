package credentials

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

// encryptionConfig seals Secrets with XSalsa20-Poly1305: 256-bit key, random 192-bit nonce, so the key
// does not need rotation by count of writes as aesgcm does. identity comes last so that nothing is ever
// written in the clear.
const encryptionConfig = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox:
      keys:
      - name: local-1
        secret: %s
  - identity: {}
`

// EnsureEncryption makes sure that path holds an encryption configuration with a local key. If it is
// gone while database exists, starting is refused: with a new key every stored Secret would be lost.
func EnsureEncryption(path, database string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(database); err == nil {
		return refuse.Config("encryption key %s is missing but %s exists: restore the key, "+
			"without it the stored Secrets cannot be read", path, database)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand.Read crashes the program instead
	raw := fmt.Sprintf(encryptionConfig, base64.StdEncoding.EncodeToString(key))
	return renameio.WriteFile(path, []byte(raw), 0o600)
}
