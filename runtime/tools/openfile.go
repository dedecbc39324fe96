package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openQuietly neither waits for the other end of a pipe nor follows a link.
const openQuietly = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW

// openRegular opens a regular file below a root for reading. The place has
// been admitted; what can have changed since is checked again on the open
// descriptor.
func (s *Set) openRegular(path string, p place) (*os.File, fs.FileInfo, error) {
	return s.openIn(&s.sandbox, path, p)
}

// openIn is openRegular for a place in another sandbox of the same home.
func (s *Set) openIn(box *sandbox, path string, p place) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Look before opening: a pipe would block and a device could act, and an
	// open of the store is already the harm (S-133).
	info, err := root.Lstat(p.rel)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if err := s.checkRegular(path, info); err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(p.rel, openQuietly, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	now, err := f.Stat()
	if err == nil {
		err = s.checkRegular(path, now)
	}
	if err == nil {
		err = box.checkOpened(path, f)
	}
	if err != nil {
		if now != nil && s.sandbox.alias(now) {
			s.retire(f)
		} else {
			f.Close()
		}
		return nil, nil, err
	}
	return f, now, nil
}

func (s *Set) checkRegular(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory; use list_dir", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case s.sandbox.alias(info):
		return errors.New(path + " is another name of a secret file of an agent's home or of the control plane; copy it if it is yours")
	}
	return nil
}

// checkOpened asks the kernel where an open descriptor really is, where it can
// tell: a directory may have been swapped for a link to a protected one after
// the path was resolved. os.Root has kept it below the root in any case.
func (b *sandbox) checkOpened(path string, f *os.File) error {
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil // no procfs here; the look before the open has to do
	}
	p, err := b.within(real)
	if err != nil {
		return fmt.Errorf("%s %w", path, err)
	}
	if why := b.protection(p, reading); why != "" {
		return fmt.Errorf("%s %s", path, why)
	}
	return nil
}

// retire keeps a descriptor that was opened on a secret file because somebody
// moved it into place between the look and the open. Closing it would drop the
// SQLite locks of this process, so it stays open as long as the Set.
//
// Implements S-133.
func (s *Set) retire(f *os.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = append(s.retired, f)
}
