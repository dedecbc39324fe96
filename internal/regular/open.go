// Package regular opens files that somebody else may have made, for reading.
//
// A path in a home, an archive or a directory that a person names may be a pipe, a socket or a device by now. Opening one
// of those waits for ever, or does something to it. Open refuses them without waiting. It must never be used for a
// database that SQLite has open in this process: closing it would drop SQLite's locks (rule S-133).
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that a path names something other than a regular file.
var ErrNotRegular = errors.New("is not a regular file: replace it by a file, or move it away")

// ErrTooLarge means that a file is larger than the caller reads.
var ErrTooLarge = errors.New("larger than what is read of such a file")

// Open opens a regular file for reading; links are followed.
//
// Errors: ErrNotRegular; fs.ErrNotExist.
func Open(path string) (*os.File, error) {
	return open(path, os.Stat, os.OpenFile)
}

// OpenIn is Open for a name below a root, which no link leads out of.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return open(name, root.Stat, root.OpenFile)
}

// open looks before it opens, because opening a device may do something to it, and again afterwards, because it may be
// another one by then. What has no data ready does not keep it waiting.
func open(name string, stat func(string) (fs.FileInfo, error), openFile func(string, int, os.FileMode) (*os.File, error)) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(name)
	}
	file, err := openFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket, or a device that is not there
		return nil, notRegular(name)
	}
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notRegular(name)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func notRegular(name string) error { return fmt.Errorf("%s %w", name, ErrNotRegular) }

// Check is nil when a path names a regular file or nothing; it opens nothing. It is for files that something other than
// this package opens.
//
// Errors: ErrNotRegular.
func Check(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return notRegular(path)
	}
	return nil
}

// ReadFile reads a regular file of at most limit bytes.
//
// Errors: ErrNotRegular; ErrTooLarge; fs.ErrNotExist.
func ReadFile(path string, limit int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: %w (%d bytes)", path, ErrTooLarge, limit)
	}
	return data, err
}
