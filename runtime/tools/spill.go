package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What the spill directory may hold. The oldest file goes first; the one being
// written is counted when the next one comes.
const (
	maxSpillFiles = 64
	maxSpillTotal = 4 << 30
)

// createSpill opens the file for the complete output of one command, readable
// by the owner only, because output can hold anything. It makes room first.
func (s *Set) createSpill(callID string) (*os.File, error) {
	if err := os.MkdirAll(s.config.SpillDir, 0o700); err != nil {
		return nil, err
	}
	if err := pruneSpill(s.config.SpillDir, maxSpillFiles-1, maxSpillTotal-maxSpillBytes); err != nil {
		s.config.Log.Error(err, "old command output could not be removed", "directory", s.config.SpillDir)
	}
	name := s.config.Clock.Now().UTC().Format("20060102_150405_") + strings.ToLower(callID[:8]) + ".txt"
	return os.OpenFile(filepath.Join(s.config.SpillDir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// pruneSpill removes the oldest spill files until at most files of them with
// at most bytes together are left. Their names sort by time.
func pruneSpill(dir string, files int, bytes int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	var errs []error
	kept, size := 0, int64(0)
	for _, e := range entries {
		if !e.Type().IsRegular() || !spillName(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // Another call removed it.
		}
		kept, size = kept+1, size+info.Size()
		if kept > files || size > bytes {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// spillName keeps pruning from touching anything else in a directory that
// configuration has named.
func spillName(name string) bool {
	ok, _ := filepath.Match("[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]_[0-9][0-9][0-9][0-9][0-9][0-9]_????????.*", name)
	return ok
}
