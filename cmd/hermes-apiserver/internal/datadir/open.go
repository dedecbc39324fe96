package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"hermes.dev/hermes/cmd/hermes-apiserver/internal/refuse"
)

// FormatVersion is the format this binary reads and writes. Raise it when an older binary must not open
// a directory that this one has written.
const FormatVersion = 1

// Dir is an opened data directory: prepared, of a format this binary knows, and locked.
type Dir struct {
	Layout
	lock *flock.Flock
}

// Owner is what the lock file says about the process that holds it.
type Owner struct {
	PID int `json:"pid"`
	// StartTime is the kernel's start time of the process in clock ticks since boot; 0 where unknown.
	// Together with the pid it identifies the process, a pid alone does not.
	StartTime uint64    `json:"startTime,omitempty"`
	Since     time.Time `json:"since"`
}

func (o Owner) String() string {
	if o.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d (since %s)", o.PID, o.Since.UTC().Format(time.RFC3339))
}

// Open prepares and locks the directory. The lock is taken before anything else is read or written, so
// that a refused second instance has changed nothing. Errors are refuse.Error with exit 75 or 78.
func Open(path string, now time.Time) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, refuse.Config("data directory %q: %w", path, err)
	}
	d := &Dir{Layout: Layout{Dir: abs}}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, unwritable(abs, err)
	}
	d.lock = flock.New(d.Lock(), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	got, err := d.lock.TryLock()
	if err != nil {
		return nil, unwritable(abs, err)
	}
	if !got {
		return nil, refuse.Busy("data directory %s is in use by %s: stop it first, or choose another --data-dir",
			abs, readOwner(d.Lock()))
	}
	if err := d.prepare(now); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close releases the lock.
func (d *Dir) Close() error { return d.lock.Close() }

func (d *Dir) prepare(now time.Time) error {
	if err := d.checkFormat(); err != nil {
		return err
	}
	for _, dir := range d.directories() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return unwritable(d.Dir, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return unwritable(d.Dir, err)
		}
	}
	if err := renameio.WriteFile(d.Format(), fmt.Appendf(nil, "%d\n", FormatVersion), 0o600); err != nil {
		return unwritable(d.Dir, err)
	}
	owner, err := json.Marshal(Owner{PID: os.Getpid(), StartTime: startTime(), Since: now})
	if err != nil {
		return fmt.Errorf("encode lock owner: %w", err)
	}
	// In place: a rename would put a new, unlocked file under the name.
	if err := os.WriteFile(d.Lock(), append(owner, '\n'), 0o600); err != nil {
		return unwritable(d.Dir, err)
	}
	return nil
}

// checkFormat accepts a directory without a format file (a new one) and every format up to FormatVersion.
func (d *Dir) checkFormat() error {
	raw, err := os.ReadFile(d.Format())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return refuse.Config("data directory %s: read its format: %w", d.Dir, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	switch {
	case err != nil || n < 1:
		return refuse.Config("%s holds %q, not a format number: restore the file or choose another --data-dir",
			d.Format(), strings.TrimSpace(string(raw)))
	case n > FormatVersion:
		return refuse.Config("data directory %s has format %d, this hermes-apiserver knows up to %d: "+
			"install a newer hermes or choose another --data-dir", d.Dir, n, FormatVersion)
	}
	return nil
}

func unwritable(dir string, err error) error {
	return refuse.Config("data directory %s cannot be used: %w: make it writable or choose another --data-dir", dir, err)
}

func readOwner(path string) Owner {
	var o Owner
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return Owner{}
	}
	return o
}
