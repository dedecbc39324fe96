package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Entry is one file in the backup directory that has a backup's name.
type Entry struct {
	Backup
	// Err is why its manifest cannot be read, nil for one that can.
	Err error
}

// List returns the profile's backups in a directory, newest first, by their manifests: it does not verify them. A
// missing directory holds none.
func List(dir, profile string) ([]Entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var out []Entry
	for _, f := range files {
		at, ok := madeAt(profile, f.Name())
		if !ok {
			continue
		}
		e := Entry{Backup: Backup{Path: filepath.Join(dir, f.Name()), Manifest: Manifest{Profile: profile, Created: at}}}
		info, err := f.Info()
		if err != nil {
			continue // pruned meanwhile
		}
		e.Size = info.Size()
		if m, err := ReadManifest(e.Path); err != nil {
			e.Err = err
		} else {
			e.Manifest = m
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// Newest is when the newest readable backup was made, zero when there is none. It is cheaper than List: only the newest
// files are read, until one is readable.
func Newest(dir, profile string) (Entry, bool, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, fmt.Errorf("list backups: %w", err)
	}
	for _, f := range slices.Backward(files) { // sorted by name, and so by time
		if _, ok := madeAt(profile, f.Name()); !ok {
			continue
		}
		path := filepath.Join(dir, f.Name())
		m, err := ReadManifest(path)
		info, statErr := f.Info()
		if err != nil || statErr != nil {
			continue
		}
		return Entry{Backup: Backup{Path: path, Size: info.Size(), Manifest: m}}, true, nil
	}
	return Entry{}, false, nil
}

// Excess decides which backups go when keep scheduled ones stay: scheduled ones of this profile that can be read, oldest
// first to go. Manual ones and files that cannot be read are left for a person. The newest good one never goes. The list
// is newest first.
func Excess(list []Entry, profile string, keep int) []Entry {
	keep = max(keep, 1)
	var out []Entry
	kept := 0
	for _, e := range list {
		if e.Err != nil || e.Profile != profile || e.Trigger != Scheduled {
			continue
		}
		if kept++; kept > keep {
			out = append(out, e)
		}
	}
	return out
}

// Prune removes what Excess decides and returns it.
func Prune(dir, profile string, keep int) ([]Entry, error) {
	unlock, err := lock(dir, profile)
	if err != nil {
		return nil, err
	}
	defer unlock()
	list, err := List(dir, profile)
	if err != nil {
		return nil, err
	}
	var removed []Entry
	for _, e := range Excess(list, profile, keep) {
		if err := os.Remove(e.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("remove an old backup: %w", err)
		}
		removed = append(removed, e)
	}
	return removed, nil
}
