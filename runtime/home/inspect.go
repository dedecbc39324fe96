package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Ownership says whose a directory is.
type Ownership string

const (
	// HomeAbsent means there is no such directory, or it holds nothing that makes it a home.
	HomeAbsent Ownership = "Absent"
	// HomeUnmanaged means that it holds somebody's home that no Profile declared.
	HomeUnmanaged Ownership = "Unmanaged"
	// HomeManaged means that a Profile owns it.
	HomeManaged Ownership = "Managed"
	// HomeReleased means that a deleted Profile left it behind.
	HomeReleased Ownership = "Released"
)

// Inspection is what a look at a directory found.
type Inspection struct {
	Ownership Ownership
	// Owner of a managed or released home.
	Owner Identity
	// Hash of the bundle a managed home was last written from.
	Hash string
	// Evidence names the files that make a directory an unmanaged home.
	Evidence []string
}

// Inspect says whether a directory is a home and whose. It only reads. A root that is Unmanaged is somebody's:
// condition HomeNotOurs.
func Inspect(home string) (Inspection, error) {
	r, err := readRecord(home)
	if err != nil {
		return Inspection{}, fmt.Errorf("inspect home: %w", err)
	}
	if r != nil {
		in := Inspection{Ownership: HomeManaged, Owner: r.Identity, Hash: r.Hash}
		if r.Released {
			in.Ownership = HomeReleased
		}
		return in, nil
	}
	in := Inspection{Ownership: HomeAbsent}
	for _, name := range []string{configName, envName, soulName, "state.db", "auth.json", "profile.yaml"} {
		_, err := os.Lstat(filepath.Join(home, name))
		if err == nil {
			in.Ownership = HomeUnmanaged
			in.Evidence = append(in.Evidence, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Inspection{}, fmt.Errorf("inspect home: %w", err)
		}
	}
	return in, nil
}
