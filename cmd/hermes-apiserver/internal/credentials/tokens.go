package credentials

import (
	"crypto/rand"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

// The two identities of a local control plane.
const (
	// AdminUser is in system:masters: it may do everything.
	AdminUser = "admin"
	// GatewayUser is what gateways authenticate as. Its group has no rights but those RBAC objects grant.
	GatewayUser = "hermes:gateway"
	// GatewayGroup is the group to bind roles to.
	GatewayGroup = "hermes:gateways"
)

// Tokens are the bearer tokens of the two identities.
type Tokens struct{ Admin, Gateway string }

// EnsureTokens reads the token file at path or creates it. A file that does not hold both identities is
// refused: silently replacing tokens would lock out running gateways.
func EnsureTokens(path string) (Tokens, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return createTokens(path)
	}
	if err != nil {
		return Tokens{}, refuse.Config("tokens: %w", err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(raw))).ReadAll()
	if err != nil {
		return Tokens{}, refuse.Config("tokens: %s: %w: remove the file to have new tokens made", path, err)
	}
	byUser := map[string]string{}
	for _, row := range rows {
		if len(row) >= 2 {
			byUser[row[1]] = row[0]
		}
	}
	t := Tokens{Admin: byUser[AdminUser], Gateway: byUser[GatewayUser]}
	if t.Admin == "" || t.Gateway == "" {
		return Tokens{}, refuse.Config("tokens: %s lacks %s or %s: remove the file to have new tokens made",
			path, AdminUser, GatewayUser)
	}
	return t, nil
}

func createTokens(path string) (Tokens, error) {
	t := Tokens{Admin: newToken(), Gateway: newToken()}
	csv := fmt.Sprintf("%s,%s,%s,%s\n%s,%s,%s,%s\n",
		t.Admin, AdminUser, AdminUser, "system:masters",
		t.Gateway, GatewayUser, GatewayUser, GatewayGroup)
	return t, renameio.WriteFile(path, []byte(csv), 0o600)
}

func newToken() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails: crypto/rand.Read crashes the program instead
	return hex.EncodeToString(raw)
}
