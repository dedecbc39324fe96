package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// forge packs a backup that holds the store of a good one and the given entries, with checksums that fit.
func forge(t testing.TB, good Backup, change func(*Manifest), entries ...string) string {
	t.Helper()
	dir := t.TempDir()
	a, err := openArchive(good.Path)
	must(t, err)
	defer a.close()
	m := a.manifest
	must(t, a.each(context.Background(), unpackInto(dir)))
	must(t, os.RemoveAll(filepath.Join(dir, "home")))
	m.Files = m.Files[:1]
	if m.Files[0].Path != storeName {
		t.Fatal("no store")
	}
	if change != nil {
		change(&m)
	}
	const text = "evil"
	sum := sha256.Sum256([]byte(text))
	for _, e := range entries {
		to := filepath.Join(dir, filepath.FromSlash(e))
		must(t, os.MkdirAll(filepath.Dir(to), 0o700))
		must(t, os.WriteFile(to, []byte(text), 0o600))
		m.Files = append(m.Files, File{Path: e, Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), Mode: 0o777})
	}
	to := filepath.Join(t.TempDir(), "forged.tar.zst")
	must(t, packFile(context.Background(), to, dir, m))
	return to
}

// TestForgedEntries: an archive with an entry that no backup holds is unusable as a whole, by name, and nothing of it
// reaches the home: a restore knows the same list as a backup.
func TestForgedEntries(t *testing.T) {
	home, good := changed(t)
	for _, entry := range []string{
		"home/state.db", "home/state.db-wal", "home/state.db-shm", "home/state.db-journal", "home/state.db.lock", "home/STATE.DB",
		"home/hooks/x.sh", "home/plugins/p/plugin.yaml", "home/approvals.json", "home/.hermes-restore.json", "home/.hermes-managed.json",
		"home/auth.json", "home/gateway-api.sock", "home/gateway.lock", "home/gateway.sock", "home/cron/ticks.json", "home/cron/jobs.json.bak",
		"home/backups/profile/x.tar.zst", "home/profiles/bob/SOUL.md", "home/.env", "home/workspace/x", "home/unknown", "other",
		"home/soul.md", "home/Soul.md", "home/SOUL.md.", "home/SOUL.md ", "home/Memories/x", "home/memories./x", "home/\u017fkills/x", "home/mem\u200bories/x",
		"home/memories", "home/skills", "home/SOUL.md/x", "home/config.yaml/x", "Home/SOUL.md", "STATE.DB",
	} {
		t.Run(entry, func(t *testing.T) {
			unchanged := tree(t, home)
			unchanged[restoreLock] = ""
			_, err := restore(home, forge(t, good, nil, entry), RestoreOptions{Files: true, Now: start.Add(time.Hour)})
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("lists %q", entry)) {
				t.Errorf("%v", err)
			}
			now := tree(t, home)
			now[restoreLock] = ""
			if fmt.Sprint(now) != fmt.Sprint(unchanged) {
				t.Error("the home changed")
			}
		})
	}
	for _, entry := range []string{
		"", "home/", "home", "/SOUL.md", "home//SOUL.md", "home/./SOUL.md", "./home/SOUL.md", "home/memories/../state.db", "home/memories/./x",
		"home/memories/", "home/memories//x", "home/../SOUL.md", `home\SOUL.md`, "home/memories/x\x00", "home/memories/\xff", "manifest.json", "state.db/x",
	} {
		if (Selection{Secrets: true, Workspace: true}).accepts(entry) {
			t.Errorf("%q is accepted", entry)
		}
	}
	if _, err := ReadManifest(forge(t, good, nil, "home/skills/a/b")); err != nil {
		t.Errorf("a skill: %v", err)
	}
	if _, err := ReadManifest(forge(t, good, func(m *Manifest) { m.Secrets, m.Workspace = true, true }, "home/.env", "home/workspace/x")); err != nil {
		t.Errorf("what was asked for: %v", err)
	}
	nestedFile := func(m *Manifest) {
		m.Files = append(m.Files, File{Path: "home/skills/a", SHA256: strings.Repeat("0", 64)}, File{Path: "home/skills/a/b", SHA256: strings.Repeat("0", 64)})
	}
	text, err := func() ([]byte, error) { m := good.Manifest; nestedFile(&m); return m.encode() }()
	must(t, err)
	if _, err := decodeManifest(text); err == nil || !strings.Contains(err.Error(), "which no backup holds") {
		t.Errorf("a file below a file: %v", err)
	}
}

// TestIncludedIsAccepted: whatever a home holds, what a backup takes from it is what a restore accepts, no more and no
// less. Paths are made of the parts that matter.
func TestIncludedIsAccepted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{
		"memories", "skills", "workspace", "cron", "jobs.json", "config.yaml", "SOUL.md", "profile.yaml", ".env", "state.db", "state.db-wal", "hooks",
		"plugins", "soul.md", "SOUL.md.", "a", "a b", "a\nb", "\u00e9", "e\u0301", "\u017fkills", "x\xff", ".hermes-restore.json", "auth.json", `a\b`, "...",
	}
	for round := range 60 {
		selection := Selection{Secrets: round%2 == 0, Workspace: round%3 == 0}
		home, work := t.TempDir(), t.TempDir()
		var made []string
		for range 40 {
			var path []string
			for range 1 + random.IntN(3) {
				path = append(path, parts[random.IntN(len(parts))])
			}
			rel := strings.Join(path, "/")
			to := filepath.Join(home, rel)
			if os.MkdirAll(filepath.Dir(to), 0o700) != nil || os.WriteFile(to, []byte(rel), 0o600) != nil {
				continue // a file where a directory would be, or the other way round
			}
			made = append(made, rel)
		}
		files, _, err := stage(context.Background(), home, work, selection)
		must(t, err)
		var taken []string
		for _, f := range files {
			taken = append(taken, f.Path)
		}
		for _, rel := range made {
			if entry := homePrefix + rel; selection.accepts(entry) != slices.Contains(taken, entry) {
				t.Errorf("%q with %+v: accepted %v, backed up %v", entry, selection, selection.accepts(entry), slices.Contains(taken, entry))
			}
		}
		m := Manifest{Version: ManifestVersion, Profile: "alice", Created: start, Secrets: selection.Secrets, Workspace: selection.Workspace, Files: files}
		to := filepath.Join(t.TempDir(), "b.tar.zst")
		must(t, packFile(context.Background(), to, work, m))
		if read, err := VerifyArchive(context.Background(), to); err != nil || !sameManifest(read, m) {
			t.Fatalf("round %d: %v of %q", round, err, taken)
		}
	}
}

// TestJournalNamesOnlyFilesOfABackup: what a journal moves into place is on the same list.
func TestJournalNamesOnlyFilesOfABackup(t *testing.T) {
	home := makeHome(t, 1)
	j := journal{Version: 1, Stamp: "20260102T030000.000Z", Files: []string{"hooks/x.sh"}}
	must(t, os.MkdirAll(filepath.Join(home, stagePrefix+j.Stamp, "home", "hooks"), 0o700))
	must(t, os.WriteFile(filepath.Join(home, stagePrefix+j.Stamp, "home", "hooks", "x.sh"), nil, 0o700))
	must(t, j.write(home))
	if _, err := Recover(home); err == nil || !strings.Contains(err.Error(), `names "hooks/x.sh"`) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(home, "hooks")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was moved into place")
	}
}

// TestUnpackedModes: an archive does not open secrets to others.
func TestUnpackedModes(t *testing.T) {
	home, good := changed(t)
	forged := forge(t, good, func(m *Manifest) { m.Secrets = true }, "home/.env", "home/skills/run")
	_, err := restore(home, forged, RestoreOptions{Files: true, Now: start.Add(time.Hour), Log: logr.Discard()})
	must(t, err)
	for rel, want := range map[string]os.FileMode{".env": 0o600, "skills/run": 0o777, storeName: 0o600} {
		if info, err := os.Stat(filepath.Join(home, rel)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", rel, info.Mode(), err)
		}
	}
}

// TestNotPlaceable: a home in which a file could not be put in place is refused before anything changes, and not left with
// a journal that nobody can finish.
func TestNotPlaceable(t *testing.T) {
	for name, place := range map[string]func(path string) error{
		"a file":        func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a link out":    func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a broken link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		for _, dir := range []string{"skills", "skills/a", "skills/a/b"} {
			t.Run(name+" at "+dir, func(t *testing.T) {
				home, b := changed(t)
				at := filepath.Join(home, dir)
				must(t, os.RemoveAll(at))
				must(t, place(at))
				_, err := restore(home, b.Path, RestoreOptions{Files: true, Now: start.Add(time.Hour)})
				if err == nil || !strings.Contains(err.Error(), at+" is where the backup has a directory") {
					t.Errorf("%v", err)
				}
				settled(t, home)
				if got := sessions(t, filepath.Join(home, storeName)); !slices.Equal(got, after) {
					t.Errorf("sessions %v", got)
				}
				if _, err := restore(home, b.Path, RestoreOptions{Now: start.Add(time.Hour)}); err != nil {
					t.Errorf("the store alone: %v", err)
				}
			})
		}
	}
}
