package manifestdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/google/renameio/v2"
)

// Trouble is what of a watched directory is not applied, for hermes status. It is a
// file of the data directory, because events are forgotten by the server while the
// manifest is still wrong.
type Trouble struct {
	// PID and StartTime are the process that watches; a record of another one says nothing.
	PID       int   `json:"pid"`
	StartTime int64 `json:"startTime"`
	// Failures by position.
	Failures []Failure `json:"failures"`
}

// Failure is one document, file or directory that was not applied.
type Failure struct {
	// At is the file, with the document's line where there is one.
	At string `json:"at"`
	// Object is what it declares, "" when that cannot be told.
	Object string `json:"object,omitempty"`
	// Message says what to change.
	Message string `json:"message"`
	// Since is when it was first seen.
	Since time.Time `json:"since"`
}

// ReadTrouble reads the record of a process; none is no trouble.
func ReadTrouble(path string, pid int, startTime int64) ([]Failure, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what is wrong with the manifests: %w", err)
	}
	var t Trouble
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, fmt.Errorf("read what is wrong with the manifests: %s: %w", path, err)
	}
	if t.PID != pid || t.StartTime != startTime {
		return nil, nil
	}
	return t.Failures, nil
}

// record keeps the file at path in step; it is written only when it differs.
type record struct {
	path    string
	written Trouble
}

func (r *record) write(t Trouble) error {
	if r.path == "" || reflect.DeepEqual(r.written, t) {
		return nil
	}
	if len(t.Failures) == 0 {
		if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget what was wrong with the manifests: %w", err)
		}
		r.written = t
		return nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(r.path, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("record what is wrong with the manifests: %w", err)
	}
	r.written = t
	return nil
}
