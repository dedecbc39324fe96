package home

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

type diskKind int

const (
	diskAbsent diskKind = iota
	diskRegular
	diskLink
	diskDir
	diskBlocked // behind a symlink that leaves the tree, below a file, or a device
)

// diskFile is what stands at a path.
type diskFile struct {
	kind diskKind
	sha  string
	data []byte // content, or the target of a symlink
	mode fs.FileMode
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// roots opens directories so that no path below one can lead out of it, whatever symlinks a person puts there.
type roots struct {
	home string
	open map[string]*os.Root
}

func newRoots(home string) *roots { return &roots{home: home, open: map[string]*os.Root{}} }

func (r *roots) close() {
	for _, root := range r.open {
		_ = root.Close()
	}
}

func (r *roots) abs(dir string) string {
	if dir == homeTree {
		return r.home
	}
	return dir
}

func (r *roots) get(dir string) (*os.Root, error) {
	if root := r.open[dir]; root != nil {
		return root, nil
	}
	root, err := os.OpenRoot(r.abs(dir))
	if err == nil {
		r.open[dir] = root
	}
	return root, err
}

func (r *roots) exists(dir string) (bool, error) {
	_, err := r.get(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (r *roots) readDir(dir, rel string) ([]fs.DirEntry, error) {
	root, err := r.get(dir)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(root.FS(), rel)
}

func (r *roots) look(dir, rel string) (diskFile, error) {
	root, err := r.get(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return diskFile{}, nil
	} else if err != nil {
		return diskFile{}, err
	}
	name := filepath.FromSlash(rel)
	fi, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return diskFile{}, nil
	case errors.Is(err, syscall.ENOTDIR), err != nil && strings.Contains(err.Error(), "escapes from parent"):
		return diskFile{kind: diskBlocked}, nil
	case err != nil:
		return diskFile{}, err
	case fi.IsDir():
		return diskFile{kind: diskDir, mode: fi.Mode().Perm()}, nil
	case fi.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(name)
		return diskFile{kind: diskLink, data: []byte(target), sha: "link:" + target}, err
	case !fi.Mode().IsRegular():
		return diskFile{kind: diskBlocked}, nil
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return diskFile{}, fmt.Errorf("read declared file: %w", err)
	}
	return diskFile{kind: diskRegular, data: data, sha: hashOf(data), mode: fi.Mode().Perm()}, nil
}
