package manifests

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// maxManifest bounds one file, in bytes. The API server takes 1.5 MiB an object.
const maxManifest = 64 << 20

// ReadFile reads one file of a directory of manifests. Anything but a regular file is refused and anything above 64
// MiB too: a pipe without a writer would be waited for forever, and a device has no end. The error does not repeat the
// path.
func ReadFile(path string) ([]byte, error) { return contents(path, openRegular) }

func contents(path string, open func(string) (*os.File, error)) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close() //nolint:errcheck // only read
	raw, err := readBounded(f)
	return raw, withoutPath(err)
}

// readBounded reads to the end and refuses what is larger than a manifest may be. Half of it would still be valid, and
// pruning would take the other half for removed.
func readBounded(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err == nil && len(raw) > maxManifest {
		return nil, fmt.Errorf("is larger than %d MiB", maxManifest>>20)
	}
	return raw, err
}

// openRegular opens a file without waiting for the other end of a pipe, and refuses it unless it is a regular one.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
