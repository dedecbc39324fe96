package attach

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hermes.dev/hermes/runtime/host"
)

func writeRecord(t *testing.T, path string, r host.Record) {
	t.Helper()
	data, err := json.Marshal(r)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
}
