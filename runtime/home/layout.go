package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	profilesDir    = "profiles"
	configName     = "config.yaml"
	envName        = ".env"
	soulName       = "SOUL.md"
	managedName    = ".managed"
	recordName     = ".hermes-managed.json"
	tombstoneName  = ".hermes-deleted"
	backupsDirName = "backups"
)

// LayoutDirs are the directories of a profile's home. Implements G-114.
func LayoutDirs() []string {
	return []string{"memories", "sessions", "skills", "skins", "logs", "plans", "workspace", "cron", "home"}
}

// identityMarkers make a directory a profile: its config, env and persona family. Implements G-112.
func identityMarkers() []string {
	return []string{configName, envName, soulName, "profile.yaml", recordName}
}

// Paths names the files of one profile's home.
type Paths struct {
	// Root is the directory that holds the default profile and profiles/.
	Root string
	// Name of the profile.
	Name string
	// Home is the profile's HERMES_HOME.
	Home string
}

// ForProfile is the home of the named profile below root; default is the root itself. Implements G-110.
func ForProfile(root, name string) (Paths, error) {
	name, err := ParseProfileName(name)
	if err != nil {
		return Paths{}, err
	}
	root = filepath.Clean(root)
	p := Paths{Root: root, Name: name, Home: root}
	if name != DefaultProfile {
		p.Home = filepath.Join(root, profilesDir, name)
	}
	return p, nil
}

// ForHome is the Paths of a home directory (G-102).
func ForHome(home string) Paths {
	root, name := splitHome(home)
	return Paths{Root: root, Name: name, Home: filepath.Clean(home)}
}

// Config is the path of config.yaml.
func (p Paths) Config() string { return filepath.Join(p.Home, configName) }

// Env is the path of .env.
func (p Paths) Env() string { return filepath.Join(p.Home, envName) }

// Soul is the path of SOUL.md.
func (p Paths) Soul() string { return filepath.Join(p.Home, soulName) }

// Store is the path of the session store.
func (p Paths) Store() string { return filepath.Join(p.Home, "state.db") }

// Cron is the directory of the profile's jobs.
func (p Paths) Cron() string { return filepath.Join(p.Home, "cron") }

// Workspace is the default working directory of tools.
func (p Paths) Workspace() string { return filepath.Join(p.Home, "workspace") }

// Backups is where files go before they are written over.
func (p Paths) Backups() string { return filepath.Join(p.Home, backupsDirName) }

// IsProfileHome says whether dir is a live profile: it carries an identity marker, its name is valid, and it is
// not being deleted. The default profile's home (a root) needs only the marker. Implements G-112.
func IsProfileHome(dir string) bool {
	if filepath.Base(filepath.Dir(dir)) == profilesDir {
		base := filepath.Base(dir)
		if base == DefaultProfile || !profileName.MatchString(base) {
			return false
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, tombstoneName)); err == nil {
		return false
	}
	return slices.ContainsFunc(identityMarkers(), func(name string) bool {
		fi, err := os.Stat(filepath.Join(dir, name))
		return err == nil && !fi.IsDir()
	})
}

// List names the live profiles below root: default first when the root carries a marker, then the others by
// name. It only reads. Implements G-112 and the order of G-116.
func List(root string) ([]Paths, error) {
	var out []Paths
	if IsProfileHome(root) {
		out = append(out, Paths{Root: root, Name: DefaultProfile, Home: root})
	}
	entries, err := os.ReadDir(filepath.Join(root, profilesDir)) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(root, profilesDir, e.Name())
		if IsProfileHome(dir) {
			out = append(out, Paths{Root: root, Name: e.Name(), Home: dir})
		}
	}
	return out, nil
}

// EnsureDir makes one directory of the home for a background writer. In a named profile whose home is gone it
// fails with fs.ErrNotExist and makes nothing: a ticker must not bring a deleted profile back. Implements G-113.
func EnsureDir(p Paths, rel string) error {
	dir := filepath.Join(p.Home, filepath.FromSlash(rel))
	if p.Name == DefaultProfile {
		return os.MkdirAll(dir, 0o700)
	}
	if fi, err := os.Stat(p.Home); err != nil {
		return err
	} else if !fi.IsDir() {
		return fmt.Errorf("%s: %w", p.Home, fs.ErrNotExist)
	}
	for i, r := range filepath.ToSlash(rel) + "/" {
		if r != '/' || i == 0 {
			continue
		}
		err := os.Mkdir(filepath.Join(p.Home, filepath.FromSlash(filepath.ToSlash(rel)[:i])), 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
