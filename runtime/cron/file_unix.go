//go:build unix

package cron

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func inodeOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Ino)
	}
	return 0
}

// keepOwner gives file the owner of what it will replace, or of the directory when there is nothing, if this process is
// root and the owner is not.
func keepOwner(file *os.File, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 {
		return nil
	}
	return file.Chown(int(stat.Uid), int(stat.Gid))
}
