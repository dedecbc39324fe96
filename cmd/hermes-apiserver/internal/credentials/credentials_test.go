package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

func private(t *testing.T, path string) []byte {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v; want mode 0600", info, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTokensAreMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	first, err := EnsureTokens(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Admin) != 64 || len(first.Gateway) != 64 || first.Admin == first.Gateway {
		t.Fatalf("tokens of %d and %d characters, equal: %v", len(first.Admin), len(first.Gateway), first.Admin == first.Gateway)
	}
	private(t, path)
	if again, err := EnsureTokens(path); err != nil || again != first {
		t.Fatalf("second time: %v, same: %v", err, again == first)
	}
	other, err := EnsureTokens(filepath.Join(t.TempDir(), "tokens.csv"))
	if err != nil || other.Admin == first.Admin || other.Gateway == first.Gateway {
		t.Fatalf("another directory has the same tokens (%v)", err)
	}
}

func TestDamagedTokensAreRefused(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "not CSV": "\"", "only the administrator": "t,admin,admin,system:masters\n",
	} {
		path := filepath.Join(t.TempDir(), "tokens.csv")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := EnsureTokens(path); refuse.Code(err) != refuse.ExitConfig {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

func TestKubeconfigStandsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := WriteKubeconfig(path, "https://127.0.0.1:1", AdminUser, "token", []byte("authority")); err != nil {
		t.Fatal(err)
	}
	private(t, path)
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://127.0.0.1:1" || cfg.BearerToken != "token" || string(cfg.CAData) != "authority" || cfg.CAFile != "" {
		t.Errorf("read back %+v", cfg)
	}
}

func TestEncryptionKeyIsNeverReplaced(t *testing.T) {
	dir := t.TempDir()
	path, database := filepath.Join(dir, "encryption.yaml"), filepath.Join(dir, "state.db")
	if err := EnsureEncryption(path, database); err != nil {
		t.Fatal(err)
	}
	first := private(t, path)
	if err := os.WriteFile(database, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EnsureEncryption(path, database); err != nil {
		t.Fatal(err)
	}
	if again := private(t, path); string(again) != string(first) {
		t.Error("the key changed")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := EnsureEncryption(path, database); refuse.Code(err) != refuse.ExitConfig || !strings.Contains(err.Error(), "restore the key") {
		t.Errorf("a lost key with a database: %v, want a refusal", err)
	}
}
