package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/store"
)

// changed is a home with a backup of two sessions, and with another session and other files since.
func changed(t testing.TB) (home string, b Backup) {
	t.Helper()
	home = makeHome(t, 2)
	b = createAt(t, home, start)
	addSessions(t, home, "later", 1)
	must(t, os.WriteFile(filepath.Join(home, "SOUL.md"), []byte("Be stern.\n"), 0o600))
	must(t, os.Remove(filepath.Join(home, "memories", "MEMORY.md")))
	return home, b
}

var (
	before = []string{"s0", "s1"}
	after  = []string{"later0", "s0", "s1"}
)

// TestRestore: the store of the backup is served, the replaced one opens under its new name with everything in it.
func TestRestore(t *testing.T) {
	home, b := changed(t)
	r, err := restore(home, b.Path, RestoreOptions{Files: true, Now: start.Add(time.Hour)})
	must(t, err)
	if got := sessions(t, filepath.Join(home, storeName)); !slices.Equal(got, before) {
		t.Errorf("restored %v", got)
	}
	stamp := start.Add(time.Hour).Format(stampLayout)
	aside := filepath.Join(home, storeName+".before-restore-"+stamp)
	if got := sessions(t, aside); !slices.Equal(got, after) || !slices.Contains(r.KeptAside, aside) {
		t.Errorf("kept aside %v in %v", got, r.KeptAside)
	}
	files := tree(t, home)
	if files["SOUL.md"] != "Be kind.\n" || files["memories/MEMORY.md"] != "remember" {
		t.Errorf("files %q", files)
	}
	if files["backups/before-restore-"+stamp+"/SOUL.md"] != "Be stern.\n" {
		t.Error("the replaced file is not kept")
	}
	settled(t, home)
}

// settled: nothing of a restore is left in the home.
func settled(t testing.TB, home string) {
	t.Helper()
	left, _ := filepath.Glob(filepath.Join(home, stagePrefix+"*"))
	if Pending(home) || len(left) != 0 {
		t.Errorf("left %v, pending %v", left, Pending(home))
	}
}

// TestRestoreStoreOnly and what a declaration owns: files stay as they are.
func TestRestoreLeavesFiles(t *testing.T) {
	home, b := changed(t)
	r, err := restore(home, b.Path, RestoreOptions{Now: start})
	must(t, err)
	if tree(t, home)["SOUL.md"] != "Be stern.\n" || !slices.Equal(r.Written, []string{storeName}) || len(r.Left) == 0 {
		t.Errorf("%+v", r)
	}
	home, b = changed(t)
	declared := target(home)
	declared.Declared = func(rel string) bool { return rel == "SOUL.md" }
	staged, err := Stage(context.Background(), declared, b.Path, false, RestoreOptions{Files: true, Now: start, Log: logr.Discard()})
	must(t, err)
	r, err = staged.Commit()
	must(t, err)
	if tree(t, home)["SOUL.md"] != "Be stern.\n" || !slices.Contains(r.Left, "SOUL.md: the Profile declares it") || !slices.Contains(r.Written, "memories/MEMORY.md") {
		t.Errorf("%+v", r)
	}
}

// TestDryRun changes nothing at all.
func TestDryRun(t *testing.T) {
	home, b := changed(t)
	unchanged := tree(t, home)
	staged, err := Stage(context.Background(), target(home), b.Path, false, RestoreOptions{Files: true, Now: start, Log: logr.Discard()})
	must(t, err)
	if plan := staged.Plan(); !slices.Contains(plan.Written, storeName) || !slices.Contains(plan.Written, "SOUL.md") {
		t.Errorf("plan %+v", plan)
	}
	if _, err := Stage(context.Background(), target(home), b.Path, false, RestoreOptions{Now: start, Log: logr.Discard()}); !errors.Is(err, ErrRestoring) {
		t.Errorf("a second restore at once: %v", err)
	}
	must(t, staged.Discard())
	unchanged[restoreLock] = ""
	if now := tree(t, home); fmt.Sprint(now) != fmt.Sprint(unchanged) {
		t.Error("a dry run changed the home")
	}
}

// TestRestoreRefuses: verified first; nothing of the profile changes.
func TestRestoreRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(t *testing.T, home string, b Backup)
		want   string
	}{
		"damaged": {func(t *testing.T, _ string, b Backup) { must(t, os.Truncate(b.Path, b.Size/2)) }, "is damaged or no backup"},
		"gone":    {func(t *testing.T, _ string, b Backup) { must(t, os.Remove(b.Path)) }, "no such file"},
		"pending": {func(t *testing.T, home string, _ Backup) {
			must(t, journal{Version: 1, Stamp: "x"}.write(home))
		}, "was cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			home, b := changed(t)
			c.break_(t, home, b)
			if _, err := restore(home, b.Path, RestoreOptions{Files: true, Now: start}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if got := sessions(t, filepath.Join(home, storeName)); !slices.Equal(got, after) {
				t.Errorf("sessions %v", got)
			}
		})
	}
	home, b := changed(t)
	other := target(home)
	other.Profile = "bob"
	if _, err := Stage(context.Background(), other, b.Path, false, RestoreOptions{Now: start}); err == nil || !strings.Contains(err.Error(), "is a backup of profile alice, not bob") {
		t.Error(err)
	}
	staged, err := Stage(context.Background(), other, b.Path, true, RestoreOptions{Now: start})
	must(t, err)
	must(t, staged.Discard())
	unsound := target(home)
	unsound.Check = func(context.Context, string) (Figures, error) { return Figures{Sessions: 99}, nil }
	if _, err := Stage(context.Background(), unsound, b.Path, false, RestoreOptions{Now: start}); !errors.Is(err, ErrDamaged) {
		t.Errorf("other figures: %v", err)
	}
	settled(t, home)
}

// TestRestoreUnderALog: the replaced store was killed with rows in its log. They go aside together, and no row of the
// old log gets into the restored store.
func TestRestoreUnderALog(t *testing.T) {
	home, b := changed(t)
	killedWithLog(t, home)
	_, err := restore(home, b.Path, RestoreOptions{Now: start.Add(time.Hour)})
	must(t, err)
	checkBothGenerations(t, home, "")
}

// killedWithLog leaves a state.db with a log that holds one more session, as a killed process does.
func killedWithLog(t testing.TB, home string) {
	t.Helper()
	s := openStore(t, home)
	_, _, err := s.EnsureSession(context.Background(), store.Session{ID: "inlog", Source: "cli"})
	must(t, err)
	saved := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		if saved[suffix], err = os.ReadFile(filepath.Join(home, storeName+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, s.Close())
	for suffix, data := range saved {
		must(t, os.WriteFile(filepath.Join(home, storeName+suffix), data, 0o600))
	}
	if len(saved["-wal"]) == 0 {
		t.Fatal("no log")
	}
}

func checkBothGenerations(t testing.TB, home, where string) {
	t.Helper()
	if got := sessions(t, filepath.Join(home, storeName)); !slices.Equal(got, before) {
		t.Errorf("%srestored %v", where, got)
	}
	kept, err := filepath.Glob(filepath.Join(home, storeName+".before-restore-*Z"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%skept %v %v", where, kept, err)
	}
	want := append([]string{"inlog"}, after...)
	if got := sessions(t, kept[0]); !slices.Equal(got, want) {
		t.Errorf("%skept aside %v, want %v", where, got, want)
	}
}

// TestKilledRestore kills a restore before each of its steps. Whoever opens the profile next finds either the old store
// with its log, or, after Recover, the restored one, with the old one whole beside it.
func TestKilledRestore(t *testing.T) {
	for n := 0; ; n++ {
		home, b := changed(t)
		killedWithLog(t, home)
		where := fmt.Sprintf("step %d: ", n)
		done := runChild(t, "restore", home, n)
		begun := Pending(home)
		recovered, err := Recover(home)
		must(t, err)
		if recovered != begun {
			t.Errorf("%srecovered %v, journal %v", where, recovered, begun)
		}
		_, stillThere := os.Stat(filepath.Join(home, storeName+"-wal"))
		if stillThere == nil { // the old store, untouched
			if done || begun {
				t.Errorf("%sthe old log lies under the restored store", where)
			}
			if got := sessions(t, filepath.Join(home, storeName)); !slices.Equal(got, append([]string{"inlog"}, after...)) {
				t.Errorf("%sold store %v", where, got)
			}
			if _, err := restore(home, b.Path, RestoreOptions{Files: true, Now: start.Add(3 * time.Hour)}); err != nil {
				t.Errorf("%sa second restore: %v", where, err)
			}
		}
		checkBothGenerations(t, home, where)
		if files := tree(t, home); files["SOUL.md"] != "Be kind.\n" || files["memories/MEMORY.md"] != "remember" {
			t.Errorf("%sfiles %q", where, files["SOUL.md"])
		}
		if again, err := Recover(home); again || err != nil {
			t.Errorf("%sa second recovery: %v %v", where, again, err)
		}
		if done {
			if n < 12 {
				t.Errorf("only %d steps were tried", n)
			}
			settled(t, home)
			return
		}
	}
}

// TestJournals that this program did not write are refused and left alone.
func TestJournals(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{", "leads out": `{"version":1,"stamp":"x","files":["../../etc/passwd"]}`, "stamp leads out": `{"version":1,"stamp":"../x","store":true}`,
		"newer": `{"version":2,"stamp":"x"}`, "empty": "",
	} {
		home := t.TempDir()
		must(t, os.WriteFile(journalPath(home), []byte(text), 0o600))
		if _, err := Recover(home); err == nil || !strings.Contains(err.Error(), "then move it away") {
			t.Errorf("%s: %v", name, err)
		}
		if !Pending(home) {
			t.Errorf("%s: the journal is gone", name)
		}
	}
}
