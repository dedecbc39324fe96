package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/gofrs/flock"

	"hermes.dev/hermes/internal/regular"
)

// Source is the profile that is backed up.
type Source struct {
	// Profile is its name and Home its directory.
	Profile, Home string
	// Snapshot has the owner of the store write a copy of it to a new file; nil when there is no store.
	Snapshot func(ctx context.Context, path string) error
	// Check says whether such a copy is sound and what it holds.
	Check func(ctx context.Context, path string) (Figures, error)
}

// CreateOptions of a backup.
type CreateOptions struct {
	// Dir is where backups go.
	Dir string
	// Foreign says that Dir is not the profile's own place for backups. A foreign one is never made: a disk that is not
	// mounted, or a mistyped name, would be taken for the place that was meant.
	Foreign bool
	Selection
	Trigger Trigger
	Now     time.Time
	Log     logr.Logger

	// step is called before each step that a kill may separate from the next; tests kill there.
	step func(string)
}

// Backup is one complete backup.
type Backup struct {
	// Path of the file and its Size in bytes.
	Path string
	Size int64
	Manifest
}

// ErrRunning means that another backup of the profile is being made in the same directory.
var ErrRunning = errors.New("a backup of this profile is being made already: wait for it")

const (
	suffix        = ".tar.zst"
	partialSuffix = ".partial"
	stampLayout   = "20060102T150405.000Z"
	lockName      = ".lock"
)

// Create makes a backup and returns it once it is verified, on disk, and has its final name. Whatever happens before
// that, older backups stay and no half one is listed. Remains of a Create that was killed are removed.
//
// Errors: ErrRunning; ErrNoDirectory; syscall.ENOSPC when the disk is full; what Snapshot and Check return.
func Create(ctx context.Context, src Source, o CreateOptions) (_ Backup, err error) {
	if o.step == nil {
		o.step = func(string) {}
	}
	if err := o.makeDir(); err != nil {
		return Backup{}, err
	}
	unlock, err := lock(o.Dir, src.Profile)
	if err != nil {
		return Backup{}, err
	}
	defer unlock()
	removePartials(o.Dir, src.Profile, o.Log)
	name := fileName(o.Dir, src.Profile, o.Now)
	work := filepath.Join(o.Dir, "."+name+partialSuffix)
	if err := os.Mkdir(work, 0o700); err != nil {
		return Backup{}, fmt.Errorf("make room for the backup: %w", err)
	}
	defer func() {
		err = errors.Join(noSpace(o.Dir, err), os.RemoveAll(work))
	}()
	o.step("stage")
	m, err := stageAll(ctx, src, o, work)
	if err != nil {
		return Backup{}, fmt.Errorf("back up profile %s: %w", src.Profile, err)
	}
	o.step("pack")
	packed := filepath.Join(work, "packed")
	if err := packFile(ctx, packed, work, m); err != nil {
		return Backup{}, fmt.Errorf("write the backup: %w", err)
	}
	o.step("verify")
	if read, err := VerifyArchive(ctx, packed); err != nil || !sameManifest(read, m) {
		return Backup{}, fmt.Errorf("the backup does not read back as it was written, so it does not count: %w", errors.Join(err, ErrDamaged))
	}
	info, err := os.Stat(packed)
	if err != nil {
		return Backup{}, err
	}
	o.step("rename")
	final := filepath.Join(o.Dir, name)
	if err := os.Rename(packed, final); err != nil {
		return Backup{}, fmt.Errorf("place the backup: %w", err)
	}
	o.step("sync")
	if err := syncDir(o.Dir); err != nil {
		return Backup{}, fmt.Errorf("place the backup: %w", err)
	}
	o.step("done")
	return Backup{Path: final, Size: info.Size(), Manifest: m}, nil
}

// ErrNoDirectory means that the directory that a person named for a backup is none.
var ErrNoDirectory = errors.New("is not a directory: make it, or mount what it is on, then back up again")

// makeDir makes the profile's own directory and only looks for a foreign one.
func (o CreateOptions) makeDir() error {
	if !o.Foreign {
		if err := os.MkdirAll(o.Dir, 0o700); err != nil {
			return fmt.Errorf("make the backup directory: %w", err)
		}
		return nil
	}
	info, err := os.Stat(o.Dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return fmt.Errorf("%s %w", o.Dir, ErrNoDirectory)
	}
	if err != nil {
		return fmt.Errorf("backup directory: %w", err)
	}
	return nil
}

// stageAll collects the files of a backup below work and checks the snapshot: a file of its own by now, opened
// read-only.
func stageAll(ctx context.Context, src Source, o CreateOptions, work string) (Manifest, error) {
	m := Manifest{
		Version: ManifestVersion, Profile: src.Profile, Created: o.Now.UTC().Truncate(time.Millisecond), Trigger: o.Trigger,
		Secrets: o.Secrets, Workspace: o.Workspace, Files: []File{},
	}
	if src.Snapshot != nil {
		path := filepath.Join(work, storeName)
		if err := src.Snapshot(ctx, path); err != nil {
			return m, err
		}
		o.step("check")
		figures, err := src.Check(ctx, path)
		if err != nil {
			return m, fmt.Errorf("the snapshot of the store is not sound, so it does not count: %w", err)
		}
		m.Store = &figures
		file, err := hashFile(path, storeName)
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, file)
	}
	o.step("files")
	files, skipped, err := stage(ctx, src.Home, work, o.Selection)
	m.Files, m.Skipped = append(m.Files, files...), skipped
	return m, err
}

func packFile(ctx context.Context, to, work string, m Manifest) error {
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := pack(ctx, out, work, m); err != nil {
		return errors.Join(err, out.Close())
	}
	return errors.Join(out.Sync(), out.Close())
}

// lock lets one process at a time make or prune a profile's backups in a directory.
func lock(dir, profile string) (unlock func(), err error) {
	return lockFile(filepath.Join(dir, lockName+"-"+profile), ErrRunning)
}

// lockFile takes an advisory lock; held by another, the error is busy.
func lockFile(path string, busy error) (unlock func(), err error) {
	if err := regular.Check(path); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, busy
	}
	return func() { _ = l.Unlock() }, nil // the kernel lets go of it anyway
}

// fileName is the first free name for a backup made now.
func fileName(dir, profile string, now time.Time) string {
	for ; ; now = now.Add(time.Millisecond) {
		name := profile + "-" + now.UTC().Format(stampLayout) + suffix
		if _, err := os.Lstat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
}

// madeAt reads a file name of fileName; ok is false for every other name.
func madeAt(profile, name string) (at time.Time, ok bool) {
	stamp, ok := strings.CutPrefix(name, profile+"-")
	if !ok {
		return time.Time{}, false
	}
	if stamp, ok = strings.CutSuffix(stamp, suffix); !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(stampLayout, stamp)
	return at, err == nil
}

// removePartials removes what a killed Create left; the lock says that none is at work.
func removePartials(dir, profile string, log logr.Logger) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // Create fails on it by itself
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), partialSuffix)
		if !ok {
			continue
		}
		if _, ok := madeAt(profile, strings.TrimPrefix(name, ".")); !ok {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			log.Error(err, "remove the remains of an unfinished backup")
		}
	}
}

// noSpace words a full disk in one sentence. A size limit on the process shows the same way.
func noSpace(dir string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("no space left in %s for a backup: free some, or keep fewer backups; older ones are untouched (%w)", dir, err)
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
