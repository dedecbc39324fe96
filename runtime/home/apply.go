package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

// applier carries a plan out.
type applier struct {
	ctx    context.Context
	paths  Paths
	roots  *roots
	o      Options
	result *Result
}

func (a *applier) step(name string) {
	if a.o.hook != nil {
		a.o.hook(name)
	}
}

func (a *applier) do(o op) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	abs := filepath.Join(a.roots.abs(o.tree), filepath.FromSlash(o.path))
	switch o.kind {
	case opMkdir:
		return a.mkdir(o, abs)
	case opBackup:
		return a.backup(o)
	case opWrite:
		a.result.Written = append(a.result.Written, abs)
		return a.write(o.tree, o.path, o.data, o.keep)
	}
	root, err := a.roots.get(o.tree)
	if err != nil {
		return err
	}
	a.step(string(o.kind) + " " + o.path)
	switch o.kind {
	case opChmod:
		return root.Chmod(filepath.FromSlash(o.path), fileMode)
	case opRmdir:
		if o.path == "." {
			err = os.Remove(abs)
		} else {
			err = root.Remove(filepath.FromSlash(o.path))
		}
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) {
			return nil // somebody was faster: it is theirs
		}
	default:
		a.result.Removed = append(a.result.Removed, abs)
		err = root.Remove(filepath.FromSlash(o.path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (a *applier) mkdir(o op, abs string) error {
	a.step("mkdir " + o.path)
	if o.path == "." {
		return os.MkdirAll(abs, dirMode)
	}
	root, err := a.roots.get(o.tree)
	if err != nil {
		return err
	}
	return root.MkdirAll(filepath.FromSlash(o.path), dirMode)
}

// write replaces a file atomically: a reader sees the old content or the new (NQ-3). The mode is 0600 from the
// start, whatever the umask (N-27, NA-26).
func (a *applier) write(tree, rel string, data []byte, keepMode bool) error {
	root, err := a.roots.get(tree)
	if err != nil {
		return err
	}
	mode := renameio.WithStaticPermissions(fileMode)
	if keepMode {
		mode = renameio.WithExistingPermissions()
	}
	a.step("create " + rel)
	f, err := renameio.NewPendingFile(filepath.FromSlash(rel), renameio.WithRoot(root), mode)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(a.roots.abs(tree), rel), err)
	}
	defer func() { _ = f.Cleanup() }() // after a replace it does nothing
	a.step("fill " + rel)
	if _, err := f.Write(data); err != nil {
		return err
	}
	a.step("rename " + rel)
	return f.CloseAtomicallyReplace()
}

// backup copies what is about to be written over into backups/, once for each content.
func (a *applier) backup(o op) error {
	a.step("mkdir " + backupsDirName)
	root, err := a.roots.get(homeTree)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(backupsDirName, dirMode); err != nil {
		return err
	}
	prefix := strings.TrimPrefix(url.PathEscape(o.path), ".") + "."
	suffix := "." + shortHash(o.data)
	entries, err := a.roots.readDir(homeTree, backupsDirName)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), suffix) {
			return nil
		}
	}
	name := prefix + a.o.Now.UTC().Format("20060102T150405Z") + suffix
	a.result.BackedUp = append(a.result.BackedUp, filepath.Join(a.paths.Backups(), name))
	a.o.Log.Info("file kept before it is written over", "file", filepath.Join(a.roots.abs(o.tree), o.path), "backup", name)
	if o.link {
		a.step("symlink " + name)
		return root.Symlink(string(o.data), filepath.Join(backupsDirName, name))
	}
	if a.roots.open[a.paths.Backups()] == nil { // through the home's root, so that it cannot lie outside
		if a.roots.open[a.paths.Backups()], err = root.OpenRoot(backupsDirName); err != nil {
			delete(a.roots.open, a.paths.Backups())
			return err
		}
	}
	return a.write(a.paths.Backups(), name, o.data, false)
}
