package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Target is the profile that is restored. Whoever calls holds the store's lock and has the store closed.
type Target struct {
	// Profile is its name and Home its directory.
	Profile, Home string
	// Check says whether a store file is sound and what it holds.
	Check func(ctx context.Context, path string) (Figures, error)
	// Declared reports files of the home, by path relative to it, that a declaration owns: they are not restored, because
	// their source is the declaration. nil means none.
	Declared func(rel string) bool
}

// RestoreOptions of a restore.
type RestoreOptions struct {
	// Files restores the profile's files too, not only its store.
	Files bool
	Now   time.Time
	Log   logr.Logger

	// step is called before each step that a kill may separate from the next; tests kill there.
	step func(string)
}

// Restored is what a restore did, or would do.
type Restored struct {
	Manifest
	// KeptAside are the files that were replaced, as they are called now; absolute paths.
	KeptAside []string `json:"keptAside,omitempty"`
	// Written are the files that were put in place, and Left those of the backup that were not, with the reason.
	Written []string `json:"written"`
	Left    []string `json:"left,omitempty"`
}

// ErrRestoring means that another restore of the profile is under way.
var ErrRestoring = errors.New("a restore of this profile is under way already: wait for it")

// restoreLock is held from Stage to Commit or Discard.
const restoreLock = ".hermes-restore.lock"

// Staged is a verified backup whose content lies in the home, ready to be moved into place. Either Commit or Discard
// must follow.
type Staged struct {
	target  Target
	o       RestoreOptions
	dir     string
	journal journal
	result  Restored
	unlock  func()
}

// Stage verifies a backup to the last byte, unpacks what a restore needs into the home, and has the store in it checked.
// Nothing that is in use changes. The profile may go on working meanwhile.
//
// Errors: ErrDamaged; what Check returns; a backup of another profile is refused unless anyProfile.
func Stage(ctx context.Context, target Target, from string, anyProfile bool, o RestoreOptions) (_ *Staged, err error) {
	if o.step == nil {
		o.step = func(string) {}
	}
	if Pending(target.Home) {
		return nil, fmt.Errorf("an earlier restore of profile %s was cut off: open the profile once, which finishes it", target.Profile)
	}
	a, err := openArchive(from)
	if err != nil {
		return nil, err
	}
	defer a.close()
	m := a.manifest
	if m.Profile != target.Profile && !anyProfile {
		return nil, fmt.Errorf("%s is a backup of profile %s, not %s: name another one, or say that it is meant (--any-profile)", from, m.Profile, target.Profile)
	}
	unlock, err := lockFile(filepath.Join(target.Home, restoreLock), ErrRestoring)
	if err != nil {
		return nil, err
	}
	if err := removeStages(target.Home); err != nil {
		unlock()
		return nil, err
	}
	s := &Staged{target: target, o: o, result: Restored{Manifest: m}, unlock: unlock}
	s.journal = journal{Version: 1, Stamp: freeStamp(target.Home, o.Now), Store: m.Store != nil}
	s.dir = filepath.Join(target.Home, stagePrefix+s.journal.Stamp)
	s.choose()
	if err := placeable(target.Home, s.journal.Files); err != nil {
		unlock()
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(noSpace(target.Home, err), s.Discard())
		}
	}()
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make room for the restore: %w", err)
	}
	o.step("unpack")
	unpack := unpackInto(s.dir)
	err = a.each(ctx, func(f File, content io.Reader) error {
		if f.Path != storeName && !slices.Contains(s.journal.Files, strings.TrimPrefix(f.Path, homePrefix)) {
			return nil // read and compared all the same
		}
		return unpack(f, content)
	})
	if err != nil {
		return nil, err
	}
	o.step("check")
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// placeable is an error when a file of the backup could not be moved into place: something that is no directory, or a link
// that leads out of the home, is where a directory belongs. Found before the journal is written, it leaves no restore that
// can be neither finished nor given up.
func placeable(home string, files []string) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	seen := map[string]bool{}
	for _, rel := range files {
		for i, c := range rel {
			dir := rel[:i]
			if c != '/' || seen[dir] {
				continue
			}
			seen[dir] = true
			info, err := root.Stat(filepath.FromSlash(dir))
			_, there := root.Lstat(filepath.FromSlash(dir))
			switch {
			case errors.Is(there, fs.ErrNotExist):
			case err != nil || !info.IsDir():
				return fmt.Errorf("%s is where the backup has a directory and is none of this home: move it away, then restore again; nothing was changed",
					filepath.Join(home, filepath.FromSlash(dir)))
			}
		}
	}
	return nil
}

// choose decides which files of the backup are restored.
func (s *Staged) choose() {
	if s.result.Store != nil {
		s.result.Written = append(s.result.Written, storeName)
	}
	for _, f := range s.result.Files {
		rel, ok := strings.CutPrefix(f.Path, homePrefix)
		switch {
		case !ok:
		case !s.o.Files:
			s.result.Left = append(s.result.Left, rel+": only the store is restored")
		case s.target.Declared != nil && s.target.Declared(rel):
			s.result.Left = append(s.result.Left, rel+": the Profile declares it")
		default:
			s.journal.Files = append(s.journal.Files, rel)
			s.result.Written = append(s.result.Written, rel)
		}
	}
}

func (s *Staged) check(ctx context.Context) error {
	if s.result.Store == nil {
		return nil
	}
	got, err := s.target.Check(ctx, filepath.Join(s.dir, storeName))
	if err != nil {
		return fmt.Errorf("the store in this backup cannot be used, so nothing was changed: %w", err)
	}
	if got != *s.result.Store {
		return fmt.Errorf("the store in this backup holds %+v and its manifest says %+v, so nothing was changed: %w", got, *s.result.Store, ErrDamaged)
	}
	return nil
}

// Plan is what Commit would do.
func (s *Staged) Plan() Restored { return s.result }

// Discard removes the stage; nothing was changed.
func (s *Staged) Discard() error {
	defer s.unlock()
	return os.RemoveAll(s.dir)
}

// Commit moves the staged files into place and the replaced ones aside. The caller holds the store's lock and nobody has
// the store open. A kill, or an error, leaves a journal with which Recover goes on.
func (s *Staged) Commit() (Restored, error) {
	for _, dir := range []string{s.dir, s.target.Home} {
		if err := syncDir(dir); err != nil {
			return Restored{}, errors.Join(fmt.Errorf("restore: %w", err), s.Discard())
		}
	}
	s.o.step("journal")
	if err := s.journal.write(s.target.Home); err != nil {
		return Restored{}, errors.Join(fmt.Errorf("write the journal of the restore: %w", noSpace(s.target.Home, err)), s.Discard())
	}
	defer s.unlock()
	kept, err := finish(s.target.Home, s.journal, s.o.step)
	s.result.KeptAside = kept
	return s.result, err
}

// Recover finishes a restore that was killed after it began to change things. The caller holds the store's lock and
// nobody has the store open. It reports whether there was one.
func Recover(home string) (bool, error) {
	j, ok, err := readJournal(home)
	if err != nil || !ok {
		return false, err
	}
	_, err = finish(home, j, func(string) {})
	return err == nil, err
}

// removeStages removes what restores left that were killed before they changed anything. The restore lock says that
// none is at work.
func removeStages(home string) error {
	left, err := filepath.Glob(filepath.Join(globEscape(home), stagePrefix+"*Z"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the remains of a restore: %w", err)
		}
	}
	return nil
}

// globEscape takes the meaning from the pattern characters of a path.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// finish does what the journal says. Each step can be repeated: what has been moved is not there to be moved again.
func finish(home string, j journal, step func(string)) (kept []string, err error) {
	dir := filepath.Join(home, stagePrefix+j.Stamp)
	if j.Store {
		if kept, err = swapStore(home, dir, j.Stamp, step); err != nil {
			return kept, err
		}
	}
	for _, rel := range j.Files {
		step("file " + rel)
		aside, err := swapFile(home, dir, rel, j.Stamp)
		if err != nil {
			return kept, fmt.Errorf("restore %s: %w", rel, err)
		}
		kept = append(kept, aside...)
	}
	step("sync")
	if err := syncDir(home); err != nil {
		return kept, err
	}
	step("journal done")
	if err := os.Remove(journalPath(home)); err != nil {
		return kept, fmt.Errorf("finish the restore: %w", err)
	}
	step("remove stage")
	if err := os.RemoveAll(dir); err != nil {
		return kept, fmt.Errorf("finish the restore: %w", err)
	}
	return kept, syncDir(home)
}

// asideSuffix follows the name of a replaced file.
func asideSuffix(stamp string) string { return ".before-restore-" + stamp }

// swapStore moves the store aside, its sidecars first, and then the staged one into place. As long as the old database
// is at its path it is the one that the sidecars beside it belong to; the new one comes only when all of them are gone.
// What is kept aside is a database and its log under matching names, so that SQLite opens it as it was.
func swapStore(home, dir, stamp string, step func(string)) (kept []string, err error) {
	staged, live := filepath.Join(dir, storeName), filepath.Join(home, storeName)
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // in place already
	}
	aside := live + asideSuffix(stamp)
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		step("aside " + storeName + suffix)
		moved, err := moveAside(live+suffix, aside+suffix)
		if err != nil {
			return kept, fmt.Errorf("keep the replaced store: %w", err)
		}
		if moved {
			kept = append(kept, aside+suffix)
		}
	}
	step("sync aside")
	if err := syncDir(home); err != nil {
		return kept, err
	}
	step("place " + storeName)
	if err := os.Rename(staged, live); err != nil {
		return kept, fmt.Errorf("place the restored store: %w", err)
	}
	return kept, nil
}

// swapFile moves one file of the home aside, into backups/, and the staged one into place.
func swapFile(home, dir, rel, stamp string) (kept []string, err error) {
	staged := filepath.Join(dir, homePrefix, filepath.FromSlash(rel))
	if _, err := os.Lstat(staged); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	root, err := os.OpenRoot(home) // a link in the home must not lead a restore out of it
	if err != nil {
		return nil, err
	}
	defer root.Close()
	local := filepath.FromSlash(rel)
	if err := root.MkdirAll(filepath.Dir(local), 0o700); err != nil {
		return nil, err
	}
	if _, err := root.Lstat(local); err == nil {
		aside := filepath.Join("backups", "before-restore-"+stamp, local)
		if err := root.MkdirAll(filepath.Dir(aside), 0o700); err != nil {
			return nil, err
		}
		if err := root.Rename(local, aside); err != nil {
			return nil, err
		}
		kept = append(kept, filepath.Join(home, aside))
	}
	from, err := filepath.Rel(home, staged)
	if err != nil {
		return kept, err
	}
	return kept, root.Rename(from, local)
}

// moveAside renames a file when there is one, never over another.
func moveAside(from, to string) (bool, error) {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if _, err := os.Lstat(to); err == nil {
		return false, fmt.Errorf("%s is there already: move it away", to)
	}
	return true, os.Rename(from, to)
}

// freeStamp names this restore so that nothing it keeps aside has a name already.
func freeStamp(home string, now time.Time) string {
	for ; ; now = now.Add(time.Millisecond) {
		stamp := now.UTC().Format(stampLayout)
		taken, _ := filepath.Glob(filepath.Join(globEscape(home), "*"+stamp+"*")) // the pattern is well formed
		_, stage := os.Lstat(filepath.Join(home, stagePrefix+stamp))
		_, kept := os.Lstat(filepath.Join(home, "backups", "before-restore-"+stamp))
		if len(taken) == 0 && errors.Is(stage, fs.ErrNotExist) && errors.Is(kept, fs.ErrNotExist) {
			return stamp
		}
	}
}
