package home

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Identity is the owner of a home.
type Identity struct {
	Namespace string `json:"namespace"`
	Profile   string `json:"profile"`
	Gateway   string `json:"gateway"`
	UID       string `json:"uid,omitempty"`
}

func (i Identity) String() string {
	return fmt.Sprintf("Profile %s/%s on Gateway %s", i.Namespace, i.Profile, i.Gateway)
}

// Phases of a record.
const (
	phaseApplying = "applying"
	phaseApplied  = "applied"
)

// States of a recorded file.
const (
	// stateIntended: a pass was about to create it. It is ours if it now holds the recorded content.
	stateIntended = "intended"
	// stateOwned: we wrote it. Whatever it holds now, it is ours.
	stateOwned = "owned"
	// stateFound: it was there before us with the declared content. It is kept declared and never removed.
	stateFound = "found"
)

// record says what we own in a home. It is written before files are touched, as intent, and after, as result, so
// that a pass that was killed anywhere leaves a state from which the next one converges.
type record struct {
	Version  int      `json:"version"`
	Identity Identity `json:"identity"`
	// Released homes were left behind by a deleted Profile; one of the same name may take them over.
	Released bool   `json:"released,omitempty"`
	Phase    string `json:"phase"`
	// Hash of the bundle that was applied last, or is being applied.
	Hash string `json:"hash"`
	// Config is config.yaml as a whole: intended until we merged into it once, then owned.
	Config recordFile `json:"config,omitzero"`
	// ConfigKeys are the keys of config.yaml that are ours.
	ConfigKeys [][]string `json:"configKeys,omitempty"`
	// ConfigSeal is the digest of those keys with their values, to be checked before the API server is reached.
	ConfigSeal string `json:"configSeal,omitempty"`
	// Trees by directory; "" is the home itself, others are absolute.
	Trees map[string]*recordTree `json:"trees,omitempty"`
}

// recordTree is what we own below one directory.
type recordTree struct {
	Files map[string]recordFile `json:"files,omitempty"`
	// Dirs we made, relative, so that they can go when they are empty.
	Dirs []string `json:"dirs,omitempty"`
	// MadeRoot is true when the directory itself was made by us.
	MadeRoot bool `json:"madeRoot,omitempty"`
}

type recordFile struct {
	SHA   string `json:"sha256"`
	State string `json:"state"`
}

// readRecord reads a home's record; nil means there is none. An unreadable one is an error: taking it for absent
// would make everything in the home look foreign.
func readRecord(home string) (*record, error) {
	path := filepath.Join(home, recordName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Version != BundleVersion {
		return nil, fmt.Errorf("%s is not a record this version can read: move the file away to start over", path)
	}
	return &r, nil
}

func (r *record) encode() []byte {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		panic(fmt.Sprintf("encode record: %v", err)) // strings and maps of strings only
	}
	return append(data, '\n')
}

// tree is the recorded tree of a directory, never nil.
func (r *record) tree(dir string) *recordTree {
	if r != nil && r.Trees[dir] != nil {
		return r.Trees[dir]
	}
	return &recordTree{}
}

// mayOwn says whether the bundle's owner may write a home with this record: nobody's, its own, or one that a
// deleted Profile of the same name left behind. The UID does not count, because a Profile that is deleted and
// made again is the same profile to its owner.
func (r *record) mayOwn(id Identity) bool {
	if r == nil {
		return true
	}
	same := r.Identity.Namespace == id.Namespace && r.Identity.Profile == id.Profile
	return same && (r.Released || r.Identity.Gateway == id.Gateway)
}
