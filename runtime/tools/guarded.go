package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// residences are directories of a guarded one that hold the homes of agents or the keys of the control plane. Naming one
// of them, or a directory in it, as a workspace opens nothing.
var residences = []string{"profiles", "gateways", "controlplane"}

// guardedRoots makes the guarded directories clean and free of symlinks, as far as they exist.
func guardedRoots(dirs []string) []string {
	var out []string
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		out = append(out, filepath.Clean(dir))
	}
	return out
}

// foreign reports that a place outside the own home lies in a guarded directory: it belongs to another agent or to the
// control plane. A workspace that is a plain directory in a guarded one was named by a person and is open.
func (b *sandbox) foreign(p place) bool {
	for _, dir := range b.guarded {
		if _, ok := below(dir, p.abs()); !ok {
			continue
		}
		rel, inside := below(dir, p.root)
		first, _, _ := strings.Cut(rel, "/")
		if !inside || rel == "." || slices.Contains(residences, first) {
			return true
		}
	}
	return false
}

// linked reports that a file has more than one name and one of them is a secret, lock or store of any home, or a file
// of the control plane, below the guarded directories. It asks for file information only: an open and close of another
// profile's store would drop the locks of this process on it. Implements S-133.
func (b *sandbox) linked(info os.FileInfo) bool {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink < 2 {
		return false
	}
	for _, dir := range b.guarded {
		homes := []string{dir}
		for _, pattern := range []string{"profiles/*", "gateways/*/*", "gateways/*/*/profiles/*"} {
			found, _ := filepath.Glob(filepath.Join(quotedGlob(dir), pattern)) // the pattern is well formed
			homes = append(homes, found...)
		}
		for _, home := range homes {
			if sameAsAny(info, home, secretFiles) {
				return true
			}
		}
		// A guarded directory that is nobody's home holds keys itself, as that of a kubeconfig does.
		if dir != b.home && holds(info, dir, false) || holds(info, filepath.Join(dir, "controlplane"), true) {
			return true
		}
	}
	return false
}

// quotedGlob takes the meaning from the special characters of a directory's name.
func quotedGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func sameAsAny(info os.FileInfo, dir string, names []string) bool {
	for _, name := range names {
		if secret, err := os.Lstat(filepath.Join(dir, name)); err == nil && os.SameFile(info, secret) {
			return true
		}
	}
	return false
}

// holds reports that info is a file of a directory, or of one below it when deep.
func holds(info os.FileInfo, dir string, deep bool) bool {
	found := false
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // gone, or not there at all
		case d.IsDir() && path != dir && !deep:
			return fs.SkipDir
		case d.Type().IsRegular():
			if other, err := d.Info(); err == nil && os.SameFile(info, other) {
				found = true
				return fs.SkipAll
			}
		}
		return nil
	})
	return found
}
