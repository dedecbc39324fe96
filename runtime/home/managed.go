package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ManagedOperator is the owner that Materialise writes into .managed.
const ManagedOperator = "hermes-operator"

// Marker is what is known of a home's .managed file.
type Marker struct {
	// Present is true when the file exists, readable or not.
	Present bool
	// Unreadable is true when it exists and cannot be read.
	Unreadable bool
	// Text is its content.
	Text string
}

// Managed says who manages the install, from the value of HERMES_MANAGED (empty when unset) and the marker. The
// owner is empty when nobody does. The variable decides before the marker; a marker that cannot be read means
// managed, because letting a person change a managed install is the worse mistake. Implements N-33 and N-34.
func Managed(variable string, marker Marker) (owner string) {
	if v := fold(variable); v != "" {
		return managedOwner(v)
	}
	switch {
	case !marker.Present:
		return ""
	case marker.Unreadable:
		return "nixos"
	default:
		return managedOwner(fold(marker.Text))
	}
}

func managedOwner(value string) string {
	switch value {
	case "true", "1", "yes", "":
		return "nixos" // installs older than named owners
	case "false", "0", "no", "off", "brew", "homebrew":
		return ""
	default:
		return value
	}
}

func fold(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// ReadMarker reads the .managed file of a home. Implements N-33.
func ReadMarker(home string) Marker {
	data, err := os.ReadFile(filepath.Join(home, managedName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Marker{}
	case err != nil:
		return Marker{Present: true, Unreadable: true}
	default:
		return Marker{Present: true, Text: string(data)}
	}
}
