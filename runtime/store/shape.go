package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes.dev/hermes/internal/regular"
)

// smallestDatabase is the size of a database of one smallest page, in bytes.
const smallestDatabase = 512

// errTooShort means that a file is neither empty nor a database.
var errTooShort = errors.New("too few for a database")

// checkShape is an error when what is at a store's path can be neither a database nor a new one. It only stats (S-133).
//
// SQLite does not tell in every such case: it takes a file of one byte for an empty one, and waits for ever for a pipe. A
// file that is short because a write to it was cut off has a log beside it, and is SQLite's to judge.
//
// Errors: errTooShort; regular.ErrNotRegular. A missing file is none.
func checkShape(path string) error {
	for _, suffix := range append([]string{""}, sidecars...) {
		if err := regular.Check(path + suffix); err != nil {
			return fmt.Errorf("session store: %w", err)
		}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("session store: %w", err)
	}
	if info.Size() == 0 || info.Size() >= smallestDatabase || hasContent(path+"-wal") || hasContent(path+"-journal") {
		return nil
	}
	return fmt.Errorf("%d bytes are %w", info.Size(), errTooShort)
}

func hasContent(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

// unlessShaped is checkShape for a file that no Store has open.
func unlessShaped(path string) error {
	err := checkShape(path)
	if errors.Is(err, errTooShort) {
		return fmt.Errorf("%s: %w (%w)", path, ErrCorrupt, err)
	}
	return err
}
