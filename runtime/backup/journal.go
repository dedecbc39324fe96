package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"hermes.dev/hermes/internal/regular"
)

// JournalName is the file in a home that says a restore is under way. While it is there nobody opens the store: Recover
// comes first.
const JournalName = ".hermes-restore.json"

// stagePrefix and a stamp name the directory in the home in which a restore collects what it will move into place.
const stagePrefix = ".hermes-restore-"

// journal says what a restore is about to do. It is written after everything was verified and staged; from then on every
// step can be repeated.
type journal struct {
	Version int `json:"version"`
	// Stamp names the stage and what is kept aside.
	Stamp string `json:"stamp"`
	// Store says that the staged state.db replaces the profile's.
	Store bool `json:"store"`
	// Files are the staged files below home/, relative to it.
	Files []string `json:"files,omitempty"`
}

func journalPath(home string) string { return filepath.Join(home, JournalName) }

// Pending reports whether a restore of the home was begun and not finished.
func Pending(home string) bool {
	_, err := os.Lstat(journalPath(home))
	return err == nil
}

func (j journal) write(home string) error {
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return renameio.WriteFile(journalPath(home), append(data, '\n'), 0o600, renameio.WithTempDir(home))
}

// readJournal reads the journal of a home; ok is false when there is none.
func readJournal(home string) (j journal, ok bool, err error) {
	data, err := regular.ReadFile(journalPath(home), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return journal{}, false, nil
	}
	if err != nil {
		return journal{}, false, fmt.Errorf("read the journal of a restore: %w", err)
	}
	err = json.Unmarshal(data, &j)
	if err == nil && (j.Version != 1 || j.Stamp == "" || strings.ContainsAny(j.Stamp, "/\\")) {
		err = errors.New("it is not one this program wrote")
	}
	for _, f := range j.Files {
		if err == nil && !(Selection{Secrets: true, Workspace: true}).accepts(homePrefix+f) {
			err = fmt.Errorf("it names %q", f)
		}
	}
	if err != nil {
		return journal{}, false, fmt.Errorf("%s cannot be read (%w): look at %s* beside it, then move it away", journalPath(home), err, stagePrefix)
	}
	return j, true, nil
}
