package cron

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// stamp identifies one version of a file. The zero value is "no file".
type stamp struct {
	mtimeNanos, size int64
	inode            uint64
}

func stampOf(info fs.FileInfo) stamp {
	return stamp{info.ModTime().UnixNano(), info.Size(), inodeOf(info)}
}

// stampFile returns the stamp of the file at path now, zero when there is none.
func stampFile(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// makeDir makes one directory and never its parents: nothing that runs in the background may bring a removed home back.
// Implements G-113.
func makeDir(path string) error {
	err := os.Mkdir(path, dirMode)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// replaceFile writes content to a temporary file in the same directory, flushes it, and renames it over path. before runs
// between the two; if it fails, nothing is renamed. The result is the stamp of the new file. A file that a person owns
// still belongs to that person after root rewrote it.
//
// Implements C-103.
func replaceFile(path string, content []byte, before func() error) (stamp, error) {
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return stamp{}, err
	}
	defer func() { _ = pending.Cleanup() }()
	if err := keepOwner(pending.File, path); err != nil {
		return stamp{}, fmt.Errorf("keep the owner of %s: %w", path, err)
	}
	if _, err := pending.Write(content); err != nil {
		return stamp{}, err
	}
	if err := pending.Sync(); err != nil {
		return stamp{}, err
	}
	written, err := pending.Stat()
	if err != nil {
		return stamp{}, err
	}
	if before != nil {
		if err := before(); err != nil {
			return stamp{}, err
		}
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return stamp{}, err
	}
	return stampOf(written), syncDir(filepath.Dir(path))
}

// syncDir makes a rename survive a power cut: a claim that is lost with the power would let an occurrence run twice.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	return errors.Join(err, dir.Close())
}
