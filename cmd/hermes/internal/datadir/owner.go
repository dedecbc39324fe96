package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/runtime/host"
)

// Owner is the process that runs hermes up for a data directory. It stands in up.lock from the moment the
// process holds the lock, and in up.json with everything filled in once all of it answers.
type Owner struct {
	PID int `json:"pid"`
	// StartTime is the kernel's start fingerprint of the process, see host.ProcessID.
	StartTime int64 `json:"startTime"`
	// Since is when hermes up was started.
	Since time.Time `json:"since"`
	// Address is the loopback address of the control plane, Version the running code's.
	Address string `json:"address,omitempty"`
	Version string `json:"version,omitempty"`
}

// Self describes this process.
func Self(now time.Time) Owner {
	pid := os.Getpid()
	return Owner{PID: pid, StartTime: host.Observe(pid).StartTime, Since: now.UTC().Truncate(time.Second)}
}

// Process is the identity the record claims.
func (o Owner) Process() host.ProcessID { return host.ProcessID{PID: o.PID, StartTime: o.StartTime} }

// Alive reports whether exactly that process runs now.
func (o Owner) Alive() bool { return host.ProcessLiveness(o.Process()) == host.Alive }

// Encode is the record as it is written.
func (o Owner) Encode() ([]byte, error) {
	raw, err := json.Marshal(o)
	return append(raw, '\n'), err
}

// Up is the process that runs hermes up for the directory. ok is false when none does. The proof is the
// kernel: the process that the lock file names is alive with the start time recorded there.
func (d Dir) Up() (owner Owner, ok bool) {
	owner, ok = readOwner(d.UpLock())
	return owner, ok && owner.Alive()
}

// Serving is Up for a hermes up whose control plane has answered, with its address.
func (d Dir) Serving() (owner Owner, ok bool) {
	owner, ok = readOwner(d.UpState())
	return owner, ok && owner.Alive()
}

// WriteServing records that hermes up serves.
func (d Dir) WriteServing(o Owner) error {
	raw, err := o.Encode()
	if err == nil {
		err = renameio.WriteFile(d.UpState(), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record that hermes up serves: %w", err)
	}
	return nil
}

// ClearServing removes the record when hermes up stops.
func (d Dir) ClearServing() error {
	if err := os.Remove(d.UpState()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record of hermes up: %w", err)
	}
	return nil
}

func readOwner(path string) (Owner, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Owner{}, false
	}
	var o Owner
	if json.Unmarshal(raw, &o) != nil || o.PID < 1 {
		return Owner{}, false
	}
	return o, true
}
