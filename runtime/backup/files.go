package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hermes.dev/hermes/internal/regular"
)

// Selection says which files of a home go into a backup.
type Selection struct {
	// Secrets includes .env.
	Secrets bool
	// Workspace includes workspace/ of the home.
	Workspace bool
}

// Includes decides about one path below the home, slash-separated; dir says that it is a directory, which is then
// walked. What is not named here belongs to the machine (locks, sockets, logs, caches), to the runtime (the record of
// what it manages), or to the store, which is copied by SQLite.
func (s Selection) Includes(rel string, dir bool) bool {
	top, _, nested := strings.Cut(rel, "/")
	switch top {
	case "memories", "skills":
		return dir || nested
	case "workspace":
		return s.Workspace && (dir || nested)
	case "cron":
		return dir && !nested || rel == "cron/jobs.json"
	case "config.yaml", "SOUL.md", "profile.yaml":
		return !dir && !nested
	case ".env":
		return s.Secrets && !dir && !nested
	}
	return false
}

// stage copies the selected files of a home into dir/home and returns what it copied. Files are read through the home's
// own root, so a link cannot lead out of it.
func stage(ctx context.Context, homeDir, dir string, s Selection) (files []File, skipped []string, err error) {
	root, err := os.OpenRoot(homeDir)
	if err != nil {
		return nil, nil, fmt.Errorf("read home: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(rel string, entry fs.DirEntry, walkErr error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if rel == "." {
			return walkErr
		}
		if !s.Includes(rel, entry.IsDir()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			if entry.Type()&fs.ModeSymlink != 0 && s.Includes(rel, true) {
				skipped = append(skipped, rel+": a link")
			}
			return nil
		}
		switch {
		case walkErr != nil:
			skipped = append(skipped, rel+": "+walkErr.Error())
			return nil
		case !storable(rel):
			skipped = append(skipped, fmt.Sprintf("%q: its name is not UTF-8", rel))
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, homePrefix, filepath.FromSlash(rel)), 0o700)
		case !entry.Type().IsRegular():
			skipped = append(skipped, rel+": not a regular file")
			return nil
		}
		file, err := stageFile(root, rel, filepath.Join(dir, homePrefix, filepath.FromSlash(rel)))
		var unreadable *unreadableError
		if errors.As(err, &unreadable) {
			skipped = append(skipped, rel+": "+unreadable.Error())
			return nil
		}
		if err == nil {
			files = append(files, file)
		}
		return err
	})
	return files, skipped, err
}

// unreadableError is a failure of the source: the backup goes on without that file and says so.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

func stageFile(root *os.Root, rel, to string) (File, error) {
	in, err := regular.OpenIn(root, filepath.FromSlash(rel)) // it may be something else by now
	if err != nil {
		return File{}, &unreadableError{err}
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return File{}, &unreadableError{err}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return File{}, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return File{}, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), readErrors{in})
	if err := errors.Join(err, out.Close()); err != nil {
		var unreadable *unreadableError
		if errors.As(err, &unreadable) {
			_ = os.Remove(to) // the staging directory goes as a whole
		}
		return File{}, err
	}
	return File{Path: homePrefix + path.Clean(rel), Size: n, SHA256: hex.EncodeToString(sum.Sum(nil)), Mode: uint32(info.Mode().Perm())}, nil
}

// readErrors marks the failures of a source apart from those of the disk it is copied to.
type readErrors struct{ io.Reader }

func (r readErrors) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &unreadableError{err}
	}
	return n, err
}

// hashFile is the entry of a staged file.
func hashFile(from, name string) (File, error) {
	in, err := os.Open(from)
	if err != nil {
		return File{}, err
	}
	defer in.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, in)
	return File{Path: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil)), Mode: 0o600}, err
}
