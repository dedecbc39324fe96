package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// maxFileBytes bounds every file this package reads. The largest honest one is a rendezvous record that lists tens of
// thousands of profiles.
const maxFileBytes = 8 << 20

// errFileTooLarge means that a file is beyond [maxFileBytes] and cannot be one of ours.
var errFileTooLarge = errors.New("file is too large")

// readSmallFile reads a regular file. Opening never blocks, whatever the path turns out to be.
func readSmallFile(path string) ([]byte, error) {
	data, _, err := readFileAndInfo(path)
	return data, err
}

func readFileAndInfo(path string) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxFileBytes {
		return nil, nil, fmt.Errorf("%s: %w: more than %d bytes", path, errFileTooLarge, maxFileBytes)
	}
	return data, info, nil
}

// writePrivate replaces a file at once and durably with an owner-only one.
func writePrivate(path string, data []byte) error {
	return renameio.WriteFile(path, data, 0o600, renameio.WithTempDir(filepath.Dir(path)))
}

// removeIf removes the file at path when match accepts its content, and reports whether it did. The file is moved aside
// first and judged there, so a file that another process publishes in the meantime is never the one that is removed.
func removeIf(path string, match func([]byte) bool) (bool, error) {
	data, err := readSmallFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !match(data) {
		return false, err
	}
	aside, err := os.MkdirTemp(filepath.Dir(path), ".discard-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(aside)
	moved := filepath.Join(aside, filepath.Base(path))
	if err := os.Rename(path, moved); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	data, err = readSmallFile(moved)
	if err == nil && match(data) {
		return true, nil
	}
	// A newer file had taken the place: put it back, unless one newer still has.
	if linkErr := os.Link(moved, path); linkErr != nil && !errors.Is(linkErr, fs.ErrExist) {
		return false, errors.Join(err, os.Rename(moved, path))
	}
	return false, err
}

// createExclusive creates an owner-only file that must not exist yet, complete from its first instant where the
// filesystem has hard links. An existing file is reported as fs.ErrExist.
func createExclusive(path string, data []byte) error {
	aside, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(aside)
	temp := filepath.Join(aside, filepath.Base(path))
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	err = os.Link(temp, path)
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}
