package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds symlink resolution, as the kernel does.
const maxLinks = 40

// sandbox is the set of directories the file tools may use. Roots are
// absolute, clean and free of symlinks; the first one is the workspace.
type sandbox struct {
	roots []string
	// home is the profile's HERMES_HOME, free of symlinks; commandHome is the
	// HOME of its commands, which is what "~" means.
	home, commandHome string
	// guarded are directories with the homes of other agents or the control plane, free of symlinks.
	guarded []string
}

// place is a path inside a root.
type place struct {
	root string
	// rel is relative to root and clean; "." is the root itself.
	rel string
}

func (p place) abs() string { return filepath.Join(p.root, p.rel) }

var errOutside = errors.New("is outside the workspace and the declared roots")

// locate turns what the model wrote into an absolute clean path: relative
// paths start at the workspace, "~" is the HOME of commands. It does not look
// at the disk.
func (b *sandbox) locate(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path contains a NUL byte")
	case path == "~" || strings.HasPrefix(path, "~/"):
		return filepath.Join(b.commandHome, path[1:]), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(b.roots[0], path), nil
}

// within finds the innermost root that holds an absolute clean path.
func (b *sandbox) within(abs string) (place, error) {
	best := place{}
	for _, root := range b.roots {
		rel, ok := below(root, abs)
		if ok && len(root) > len(best.root) {
			best = place{root: root, rel: rel}
		}
	}
	if best.root == "" {
		return place{}, errOutside
	}
	return best, nil
}

// below gives abs relative to dir when it is dir or lies below it.
func below(dir, abs string) (string, bool) {
	if dir == abs {
		return ".", true
	}
	prefix := dir
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	rel, ok := strings.CutPrefix(abs, prefix)
	return rel, ok && rel != ""
}

// resolve locates path and follows every symlink of it, within and between
// roots. The result is free of symlinks at the time of the call; missing
// components at the end are kept, so that they can be created. Opening still
// goes through os.Root, which holds when the tree changes meanwhile.
func (b *sandbox) resolve(path string) (place, error) {
	abs, err := b.locate(path)
	if err != nil {
		return place{}, err
	}
	for links := 0; ; links++ {
		p, err := b.within(abs)
		if err != nil {
			return place{}, fmt.Errorf("%s %w", path, err)
		}
		if links > maxLinks {
			return place{}, fmt.Errorf("%s: too many symbolic links", path)
		}
		next, err := followFirstLink(p)
		if err != nil {
			return place{}, fmt.Errorf("%s: %w", path, plain(err))
		}
		if next == "" {
			return p, nil
		}
		abs = next
	}
}

// followFirstLink walks p component by component and, at the first symlink,
// returns the absolute path with that link replaced by its target. It returns
// "" when there is none.
func followFirstLink(p place) (string, error) {
	if p.rel == "." {
		return "", nil
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	parts := strings.Split(p.rel, "/")
	for i := range parts {
		prefix := filepath.Join(parts[:i+1]...)
		info, err := root.Lstat(prefix)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := root.Readlink(prefix)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(p.root, filepath.Dir(prefix), target)
		}
		return filepath.Join(append([]string{target}, parts[i+1:]...)...), nil
	}
	return "", nil
}

// plain takes the operation and the root-relative path off an OS error: the
// message already names the path the model wrote.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
