package homeimport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.dev/hermes/internal/regular"
	"hermes.dev/hermes/runtime/home"
)

// maxText bounds each text file that is read, in bytes.
const maxText = 4 << 20

// maxFile bounds each memory or skill file that is copied, in bytes.
const maxFile = 256 << 20

var errLarge = fmt.Errorf("it is larger than %d MiB: copy it yourself", maxFile>>20)

// Home is what was found in a home.
type Home struct {
	// Dir is its directory and Name the profile's name there: default, or the directory's below profiles/.
	Dir, Name string
	// Config are the keys of config.yaml and Env the variables of .env.
	Config map[string]any
	Env    []home.EnvEntry
	// Soul is the text of SOUL.md.
	Soul string
	// Files are the paths below memories/ and skills/, relative to the home and slash-separated.
	Files []string
	Jobs  []Job
	// HasStore says that there is a state.db.
	HasStore bool
	// Ignored are entries of the home that are not taken over.
	Ignored []string
	// Notes say what could not be read.
	Notes []string
}

// Read collects a home. A part that cannot be read is a note, so that it does not hide the others; a directory that is no
// home is an error.
func Read(dir string) (Home, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Home{}, fmt.Errorf("read home: %w", err)
	}
	defer root.Close()
	paths := home.ForHome(dir)
	h := Home{Dir: dir, Name: paths.Name}
	_, storeErr := root.Lstat("state.db")
	h.HasStore = storeErr == nil
	if !home.IsProfileHome(dir) && !h.HasStore {
		return Home{}, fmt.Errorf("%s is not the home of an agent: it has no config.yaml, .env, SOUL.md or state.db", dir)
	}
	h.readConfig(root)
	h.readEnv(root)
	h.Soul = h.text(root, "SOUL.md")
	h.readJobs(root)
	h.readFiles(root)
	return h, h.readRest(root)
}

func (h *Home) note(format string, args ...any) {
	h.Notes = append(h.Notes, fmt.Sprintf(format, args...))
}

// text is the content of a file, "" when there is none; one that cannot be taken over is noted.
func (h *Home) text(root *os.Root, name string) string {
	file, err := regular.OpenIn(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		h.note("%s was not read: %v", name, err)
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
		h.note("%s was not read: it is not a file of at most %d MiB", name, maxText>>20)
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(file, maxText))
	if err != nil {
		h.note("%s was not read: %v", name, err)
		return ""
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if valid := strings.ToValidUTF8(text, "\uFFFD"); valid != text {
		h.note("%s is not all UTF-8 text: the rest was replaced by %q", name, "\uFFFD")
		return valid
	}
	return text
}

func (h *Home) readConfig(root *os.Root) {
	config, err := home.ParseConfig([]byte(h.text(root, "config.yaml")))
	if err != nil {
		h.note("config.yaml was not taken over: it cannot be read as YAML (%v)", err)
		return
	}
	if err := config.Decode(&h.Config); err != nil {
		h.note("config.yaml was not taken over: %v", err)
	}
}

func (h *Home) readEnv(root *os.Root) {
	var err error
	if h.Env, err = home.ParseEnv([]byte(h.text(root, ".env"))); err != nil {
		h.Env = nil
		h.note(".env was not taken over: %v", err) // never with the line's text
	}
}

func (h *Home) readJobs(root *os.Root) {
	jobs, notes, err := ParseJobs(h.text(root, "cron/jobs.json"))
	if err != nil {
		h.note("cron/jobs.json was not taken over: %v", err)
	}
	h.Jobs = jobs
	h.Notes = append(h.Notes, notes...)
}

// readFiles lists what CopyFiles copies.
func (h *Home) readFiles(root *os.Root) {
	for _, top := range []string{"memories", "skills"} {
		_ = fs.WalkDir(root.FS(), top, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				h.note("%s was not read: %v", path, err)
			case entry.IsDir():
			case !entry.Type().IsRegular() || path == top:
				h.note("%s was not taken over: it is not a regular file below %s/", path, top)
			default:
				if info, err := entry.Info(); err != nil || info.Size() > maxFile {
					h.note("%s was not taken over: %v", path, cmp.Or(err, errLarge))
					return nil
				}
				h.Files = append(h.Files, path)
			}
			return nil // every failure is a note
		})
	}
	slices.Sort(h.Files)
}

// taken are the entries of a home that are looked at, and quiet those that belong to processes or can be made again.
var (
	taken = []string{"config.yaml", ".env", "SOUL.md", "memories", "skills", "state.db"}
	quiet = []string{"state.db-wal", "state.db-shm", "logs", "cache", "workspace", "gateway.pid", "gateway.lock", "gateway.sock", "gateway_state.json",
		"gateway-starts.log", "gateway.sock.path", "gateway.parked", "gateway_migration.json", "processes.json", "profiles", "cron"}
)

func (h *Home) readRest(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read home: %w", err)
	}
	for _, e := range entries {
		if !slices.Contains(taken, e.Name()) && !slices.Contains(quiet, e.Name()) {
			h.Ignored = append(h.Ignored, e.Name())
		}
	}
	return nil
}

// CopyFiles copies the files of a home into another one. What is there already is left alone, so a second time copies
// nothing. It returns how many it copied.
func CopyFiles(h Home, to string) (int, error) {
	from, err := os.OpenRoot(h.Dir)
	if err != nil {
		return 0, fmt.Errorf("copy files: %w", err)
	}
	defer from.Close()
	into, err := os.OpenRoot(to)
	if err != nil {
		return 0, fmt.Errorf("copy files: %w", err)
	}
	defer into.Close()
	copied := 0
	for _, path := range h.Files {
		local := filepath.FromSlash(path)
		if err := into.MkdirAll(filepath.Dir(local), 0o700); err != nil {
			return copied, fmt.Errorf("copy files: %w", err)
		}
		err := copyOne(from, into, local)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return copied, fmt.Errorf("copy %s: %w", path, err)
		}
		copied++
	}
	return copied, nil
}

func copyOne(from, into *os.Root, path string) error {
	if _, err := into.Lstat(path); err == nil {
		return fs.ErrExist
	}
	in, err := regular.OpenIn(from, path)
	if err != nil {
		return err
	}
	defer in.Close()
	partial := path + ".hermes-import"
	if err := into.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an import that was cut off
		return err
	}
	out, err := into.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, maxFile+1))
	if err == nil && n > maxFile {
		err = errLarge
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, into.Remove(partial))
	}
	return into.Rename(partial, path)
}
