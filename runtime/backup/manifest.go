package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// ManifestVersion is the version this package writes, and the newest it reads.
const ManifestVersion = 1

// Names inside a backup.
const (
	manifestName = "manifest.json"
	storeName    = "state.db"
	homePrefix   = "home/"
)

// maxManifest bounds the manifest, in bytes: some hundred thousand files.
const maxManifest = 64 << 20

// Trigger is why a backup was made.
type Trigger string

const (
	// Manual backups were asked for by a person and are never pruned.
	Manual Trigger = "manual"
	// Scheduled backups come from spec.backup and are pruned to spec.backup.keep.
	Scheduled Trigger = "scheduled"
)

// Figures are what the store in a backup holds.
type Figures struct {
	SchemaVersion int64 `json:"schemaVersion"`
	Sessions      int64 `json:"sessions"`
	Messages      int64 `json:"messages"`
}

// File is one file of a backup.
type File struct {
	// Path inside the backup: state.db, or home/ and the path below the profile's home.
	Path string `json:"path"`
	// Size in bytes.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Mode is the permission bits.
	Mode uint32 `json:"mode"`
}

// Manifest says what a backup holds. It is the first entry of the file.
type Manifest struct {
	Version int       `json:"version"`
	Profile string    `json:"profile"`
	Created time.Time `json:"created"`
	Trigger Trigger   `json:"trigger"`
	// Store is absent when the profile had no session store yet.
	Store *Figures `json:"store,omitempty"`
	// Secrets and Workspace say that .env and workspace/ are in it, which they are only on request.
	Secrets   bool   `json:"secrets,omitempty"`
	Workspace bool   `json:"workspace,omitempty"`
	Files     []File `json:"files"`
	// Skipped names what was left out and why: links, sockets, files that could not be read.
	Skipped []string `json:"skipped,omitempty"`
}

// Bytes is the size of all files together, before compression.
func (m Manifest) Bytes() int64 {
	var n int64
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

func (m Manifest) encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(data, '\n'), nil
}

// decodeManifest reads and checks a manifest: what it says decides where a restore writes.
func decodeManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.Version != ManifestVersion {
		return Manifest{}, fmt.Errorf("its manifest has version %d and this program reads %d: use the hermes that wrote it", m.Version, ManifestVersion)
	}
	if m.Profile == "" {
		return Manifest{}, errors.New("its manifest names no profile")
	}
	seen, hasStore := map[string]bool{}, false
	written := Selection{Secrets: m.Secrets, Workspace: m.Workspace}
	for _, f := range m.Files {
		if !written.accepts(f.Path) || seen[f.Path] || f.Size < 0 || len(f.SHA256) != 64 {
			return Manifest{}, fmt.Errorf("its manifest lists %q, which no backup holds", f.Path)
		}
		seen[f.Path] = true
		hasStore = hasStore || f.Path == storeName
	}
	if inside := nested(seen); inside != "" {
		return Manifest{}, fmt.Errorf("its manifest lists %q below what it lists as a file, which no backup holds", inside)
	}
	if hasStore != (m.Store != nil) {
		return Manifest{}, errors.New("its manifest and its files disagree about the session store")
	}
	return m, nil
}

// nested is a path that has another one of the set as its directory, "" when there is none.
func nested(paths map[string]bool) string {
	for p := range paths {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if paths[dir] {
				return p
			}
		}
	}
	return ""
}

// accepts reports whether a backup with this selection can hold an entry: the store, or a file below home/ under the one
// spelling that making a backup gives it. It is the list of what is backed up, so an archive from anywhere cannot put
// anything else into a home: no store, hook, lock, approval or journal.
func (s Selection) accepts(entry string) bool {
	if entry == storeName {
		return true
	}
	rel, ok := strings.CutPrefix(entry, homePrefix)
	return ok && storable(rel) && s.Includes(rel, false)
}

// storable is true for a clean relative path that survives a manifest and an archive as it is.
func storable(rel string) bool {
	return fs.ValidPath(rel) && rel != "." && !strings.ContainsRune(rel, 0)
}
