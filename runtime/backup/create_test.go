package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/store"
)

func paths(m Manifest) []string {
	var out []string
	for _, f := range m.Files {
		out = append(out, f.Path)
	}
	slices.Sort(out)
	return out
}

// TestCreate: a backup holds the store and the profile's files, nothing of the machine, and a secret only when asked.
func TestCreate(t *testing.T) {
	home := makeHome(t, 3)
	must(t, os.Symlink("/etc/passwd", filepath.Join(home, "memories", "out")))
	must(t, syscall.Mkfifo(filepath.Join(home, "skills", "pipe"), 0o600))
	plain := []string{"home/SOUL.md", "home/config.yaml", "home/cron/jobs.json", "home/memories/MEMORY.md", "home/skills/a/SKILL.md", "home/skills/a/b/c.txt", "state.db"}
	for name, c := range map[string]struct {
		selection Selection
		more      []string
	}{
		"plain":     {Selection{}, nil},
		"secrets":   {Selection{Secrets: true}, []string{"home/.env"}},
		"workspace": {Selection{Workspace: true}, []string{"home/workspace/notes.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := createAt(t, home, start, func(o *CreateOptions) { o.Selection = c.selection; o.Dir = t.TempDir() })
			want := append(slices.Clone(plain), c.more...)
			slices.Sort(want)
			if got := paths(b.Manifest); !slices.Equal(got, want) {
				t.Errorf("files %v, want %v", got, want)
			}
			if b.Store == nil || *b.Store != (Figures{SchemaVersion: 30, Sessions: 3, Messages: 3}) || b.Profile != "alice" || !b.Created.Equal(start) {
				t.Errorf("manifest %+v", b.Manifest)
			}
			if len(b.Skipped) != 2 {
				t.Errorf("skipped %q", b.Skipped)
			}
			read, err := VerifyArchive(context.Background(), b.Path)
			if err != nil || !reflect.DeepEqual(read, b.Manifest) {
				t.Errorf("%v: read %+v, wrote %+v", err, read, b.Manifest)
			}
			info, err := os.Stat(b.Path)
			if err != nil || info.Mode().Perm() != 0o600 || info.Size() != b.Size {
				t.Errorf("%v %v", info, err)
			}
			if names, _ := os.ReadDir(filepath.Dir(b.Path)); len(names) != 2 { // the lock and the backup
				t.Errorf("left beside it: %v", names)
			}
			if raw, err := os.ReadFile(b.Path); err != nil || bytes.Contains(raw, []byte("sk-secret")) {
				t.Error("a secret stands in it uncompressed")
			}
		})
	}
}

// TestCreateWithoutStore: a profile nobody talked to has files to keep and no store.
func TestCreateWithoutStore(t *testing.T) {
	home := makeHome(t, 0)
	src := source(home)
	src.Snapshot = nil
	b, err := Create(context.Background(), src, CreateOptions{Dir: t.TempDir(), Now: start, Log: logr.Discard()})
	if err != nil || b.Store != nil || slices.Contains(paths(b.Manifest), storeName) {
		t.Errorf("%+v %v", b, err)
	}
}

// TestUnsoundSnapshotDoesNotCount: the integrity check decides, and the older backup stays.
func TestUnsoundSnapshotDoesNotCount(t *testing.T) {
	home := makeHome(t, 50)
	older := createAt(t, home, start)
	src := source(home)
	sound := src.Snapshot
	src.Snapshot = func(ctx context.Context, path string) error {
		if err := sound(ctx, path); err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		copy(data[len(data)/2:], bytes.Repeat([]byte{0x5a}, 6000))
		return os.WriteFile(path, data, 0o600)
	}
	_, err := Create(context.Background(), src, CreateOptions{Dir: dirOf(home), Trigger: Scheduled, Now: start.Add(time.Hour), Log: logr.Discard()})
	if !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("error %v", err)
	}
	onlyBackup(t, home, older)
}

func onlyBackup(t *testing.T, home string, want Backup) {
	t.Helper()
	list, err := List(dirOf(home), "alice")
	must(t, err)
	if len(list) != 1 || list[0].Path != want.Path || list[0].Err != nil {
		t.Errorf("backups %+v", list)
	}
	if left, _ := filepath.Glob(filepath.Join(dirOf(home), ".*"+partialSuffix)); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if _, err := VerifyArchive(context.Background(), want.Path); err != nil {
		t.Error(err)
	}
}

// TestKilledCreate kills a backup before each of its steps: older ones stay, no half one is listed, and the next one
// works and clears what was left.
func TestKilledCreate(t *testing.T) {
	for n := 0; ; n++ {
		home := makeHome(t, 5)
		older := createAt(t, home, start)
		done := runChild(t, "create", home, n)
		list, err := List(dirOf(home), "alice")
		must(t, err)
		for _, e := range list {
			m, err := VerifyArchive(context.Background(), e.Path)
			if err != nil || m.Store == nil || m.Store.Sessions != 5 {
				t.Errorf("step %d: %s: %+v %v", n, e.Path, m, err)
			}
		}
		if !slices.ContainsFunc(list, func(e Entry) bool { return e.Path == older.Path }) {
			t.Errorf("step %d: the older backup is gone", n)
		}
		createAt(t, home, start.Add(3*time.Hour))
		if left, _ := filepath.Glob(filepath.Join(dirOf(home), ".*"+partialSuffix)); len(left) != 0 {
			t.Errorf("step %d: left %v", n, left)
		}
		if done {
			if n < 7 {
				t.Errorf("only %d steps were tried", n)
			}
			return
		}
	}
}

// TestOneAtATime: two backups at once would be pruned against each other.
func TestOneAtATime(t *testing.T) {
	home := makeHome(t, 1)
	unlock, err := lock(t.TempDir(), "alice")
	must(t, err)
	unlock()
	must(t, os.MkdirAll(dirOf(home), 0o700))
	unlock, err = lock(dirOf(home), "alice")
	must(t, err)
	defer unlock()
	if _, err := Create(context.Background(), source(home), CreateOptions{Dir: dirOf(home), Now: start, Log: logr.Discard()}); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
	if _, err := Prune(dirOf(home), "alice", 1); !errors.Is(err, ErrRunning) {
		t.Error(err)
	}
}

// TestNoSpace: one sentence that says what to do, whoever met the end of the disk.
func TestNoSpace(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, fmt.Errorf("copy: %w", &os.PathError{Op: "write", Err: syscall.ENOSPC})} {
		err := noSpace("/b", cause)
		if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "no space left in /b for a backup: free some") {
			t.Error(err)
		}
	}
	if err := noSpace("/b", os.ErrPermission); err != os.ErrPermission || noSpace("/b", nil) != nil {
		t.Error(err)
	}
}

// TestDiskFull meets a real limit while files are staged and while the archive is written.
func TestDiskFull(t *testing.T) {
	for _, kib := range []int{300, 750} {
		home := makeHome(t, 5)
		older := createAt(t, home, start)
		must(t, os.WriteFile(filepath.Join(home, "memories", "big"), randomBytes(600<<10, 1), 0o600))
		must(t, os.WriteFile(filepath.Join(home, "memories", "more"), randomBytes(500<<10, 2), 0o600))
		exe, err := os.Executable()
		must(t, err)
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childVar+"="+strings.Join([]string{"create-limited", home, fmt.Sprint(kib)}, "|"))
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "no space left in "+dirOf(home)) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("limit %d KiB: %v\n%s", kib, err, out)
		}
		onlyBackup(t, home, older)
	}
}

// randomBytes do not get smaller by compression.
func randomBytes(n int, seed byte) []byte {
	out := make([]byte, n)
	source := rand.NewChaCha8([32]byte{seed})
	_, _ = source.Read(out) // never fails
	return out
}

// TestDamagedArchives: every way in which a file can differ from what was written is found.
func TestDamagedArchives(t *testing.T) {
	home := makeHome(t, 20)
	b := createAt(t, home, start)
	data, err := os.ReadFile(b.Path)
	must(t, err)
	try := func(name string, changed []byte) {
		path := filepath.Join(t.TempDir(), "b")
		must(t, os.WriteFile(path, changed, 0o600))
		if _, err := VerifyArchive(context.Background(), path); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := 0; i < len(data); i += max(1, len(data)/50) {
		flipped := slices.Clone(data)
		flipped[i] ^= 1
		path := filepath.Join(t.TempDir(), "b")
		must(t, os.WriteFile(path, flipped, 0o600))
		// A bit of the frame header may mean nothing; the content then is what it was.
		if m, err := VerifyArchive(context.Background(), path); err == nil && !sameManifest(m, b.Manifest) {
			t.Errorf("bit at %d: accepted with another manifest", i)
		}
		try(fmt.Sprintf("cut at %d", i), data[:i])
	}
	try("text", []byte("no backup"))
	try("empty", nil)
	for name, change := range map[string]func(*Manifest){
		"another checksum": func(m *Manifest) { m.Files[0].SHA256 = strings.Repeat("0", 64) },
		"newer version":    func(m *Manifest) { m.Version++ },
		"no profile":       func(m *Manifest) { m.Profile = "" },
		"path that leaves": func(m *Manifest) { m.Files[1].Path = "home/../../x" },
		"absolute path":    func(m *Manifest) { m.Files[1].Path = "home//etc/passwd" },
		"a path twice":     func(m *Manifest) { m.Files[1] = m.Files[0] },
		"no store":         func(m *Manifest) { m.Store = nil },
	} {
		m := b.Manifest
		m.Files = slices.Clone(m.Files)
		work := t.TempDir()
		a, err := openArchive(b.Path)
		must(t, err)
		must(t, a.each(context.Background(), unpackInto(work)))
		a.close()
		change(&m)
		for _, f := range m.Files { // what it lists must be there to be packed
			to := filepath.Join(work, filepath.FromSlash(f.Path))
			must(t, os.MkdirAll(filepath.Dir(to), 0o700))
			if _, err := os.Stat(to); err != nil {
				must(t, os.WriteFile(to, make([]byte, f.Size), 0o600))
			}
		}
		var packed bytes.Buffer
		if err := pack(context.Background(), &packed, work, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		try(name, packed.Bytes())
	}
}
