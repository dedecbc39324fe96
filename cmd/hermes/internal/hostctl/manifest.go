package hostctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// manifestName is the file that says a migration has begun and not ended.
const manifestName = "gateway_migration.json"

// manifest is the resume record of a migration; it is not a rollback command.
type manifest struct {
	StartedAt   string      `json:"startedAt"`
	Secondaries []Secondary `json:"secondaries"`
}

func (m manifest) write(root string) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = renameio.WriteFile(filepath.Join(root, manifestName), append(data, '\n'), 0o600, renameio.WithTempDir(root))
	}
	if err != nil {
		return fmt.Errorf("record the migration: %w", err)
	}
	return nil
}

// readManifest returns the manifest of an unfinished migration. One that cannot be read still means unfinished.
func readManifest(root string) (m manifest, unfinished bool, err error) {
	data, err := os.ReadFile(filepath.Join(root, manifestName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return manifest{}, false, nil
	case err != nil:
		return manifest{}, false, fmt.Errorf("read the migration record: %w", err)
	}
	_ = json.Unmarshal(data, &m)
	return m, true, nil
}

func removeManifest(root string) error {
	if err := os.Remove(filepath.Join(root, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("end the migration: %w", err)
	}
	return nil
}
