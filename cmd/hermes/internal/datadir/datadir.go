// Package datadir owns where hermes keeps its things on this machine: how the data directory is found,
// the names of the files in it, and which control plane a verb talks to. It must never read or write the
// files of the control plane or of a gateway. Implements "Data directory" of design §9.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hermes.dev/hermes/controlplane"
)

// Dir is a data directory, an absolute path.
type Dir string

// Getenv looks a variable up; "" when it is not set.
type Getenv func(string) string

// Resolve finds the data directory: the flag, else $HERMES_DATA, else $XDG_STATE_HOME/hermes, else
// ~/.local/state/hermes. It does not create it.
func Resolve(flag string, getenv Getenv) (Dir, error) {
	switch {
	case flag != "":
		return absolute(flag)
	case getenv("HERMES_DATA") != "":
		return absolute(getenv("HERMES_DATA"))
	case filepath.IsAbs(getenv("XDG_STATE_HOME")): // the XDG specification says to ignore a relative one
		return Dir(filepath.Join(getenv("XDG_STATE_HOME"), "hermes")), nil
	case filepath.IsAbs(getenv("HOME")):
		return Dir(filepath.Join(getenv("HOME"), ".local", "state", "hermes")), nil
	}
	return "", errors.New("no data directory: set --data, HERMES_DATA or HOME to an absolute path")
}

// Named reports whether Resolve was told a directory, by the flag or by $HERMES_DATA.
func Named(flag string, getenv Getenv) bool { return flag != "" || getenv("HERMES_DATA") != "" }

func absolute(path string) (Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory %s: %w", path, err)
	}
	return Dir(abs), nil
}

// Create makes the directory and the ones hermes up needs in it, for their owner only. One that is there already is
// closed to others: who may write into it can put other keys, other programs' sockets and other stores in place, however
// well each file is protected.
func (d Dir) Create() error {
	for _, dir := range []string{string(d), d.LogDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		if err := closeToOthers(dir); err != nil {
			return fmt.Errorf("data directory: %w: only its owner may have access to it: change its mode to 0700 or choose another --data", err)
		}
	}
	return nil
}

func closeToOthers(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	return os.Chmod(dir, 0o700) // a directory needs the x
}

func (d Dir) join(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}

// ControlPlane is the layout of the embedded control plane's own directory.
func (d Dir) ControlPlane() controlplane.Layout {
	return controlplane.Layout{Dir: d.join("controlplane")}
}

// UpLock is held for life by hermes up and names it.
func (d Dir) UpLock() string { return d.join("up.lock") }

// UpState is written by hermes up once everything answers, and removed when it stops.
func (d Dir) UpState() string { return d.join("up.json") }

// ManifestTrouble is what hermes up --manifests could not apply, for hermes status.
func (d Dir) ManifestTrouble() string { return d.join("manifests.json") }

// ShutdownGateways is the marker by which hermes down asks a stopping operator to stop its gateways too.
func (d Dir) ShutdownGateways() string { return d.join("shutdown-gateways") }

// Engine is where the process engine remembers its gateways.
func (d Dir) Engine() string { return d.join("engine") }

// Gateways is the parent of the default homes, gateways/<namespace>/<name>.
func (d Dir) Gateways() string { return d.join("gateways") }

// LogDir holds the logs of what runs in the background.
func (d Dir) LogDir() string { return d.join("logs") }

// UpLog is where hermes up --detach writes.
func (d Dir) UpLog() string { return d.join("logs", "up.log") }

// ChatHistory is what a person said to a profile in hermes chat.
func (d Dir) ChatHistory(namespace, profile string) string {
	return d.join("history", namespace, profile+".jsonl")
}
