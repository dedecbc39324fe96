package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestRetiredGenerations(t *testing.T) {
	const path = "/h/state.db"
	wal, other := fileID{1, 10}, fileID{1, 11}
	held := func(pid int, target string, id fileID) unlinked {
		return unlinked{pid: pid, descriptor: descriptor{target: target, id: id}}
	}
	cases := []struct {
		id    string
		found []unlinked
		names map[string]fileID
		want  []Holder
	}{
		{"S-130 path is gone", []unlinked{held(7, path+"-wal (deleted)", wal)}, nil, []Holder{{PID: 7, Files: []string{"state.db-wal (deleted)"}}}},
		{"S-130 path names another file", []unlinked{held(7, path+"-shm (deleted)", wal)}, map[string]fileID{path + "-shm": other}, []Holder{{PID: 7, Files: []string{"state.db-shm (deleted)"}}}},
		{"T-228", []unlinked{held(7, path+"-wal (deleted)", wal)}, map[string]fileID{path + "-wal": wal}, nil},
		{"S-130 a file of that very name", []unlinked{held(7, path+"-wal (deleted)", wal)}, map[string]fileID{path + "-wal (deleted)": wal}, nil},
		{"S-130 another store", []unlinked{held(7, "/other/state.db-wal (deleted)", wal)}, nil, nil},
		{"S-130 the database itself", []unlinked{held(7, path+" (deleted)", wal)}, nil, nil},
		{"S-134 unknown identity", []unlinked{held(7, path+"-wal (deleted)", fileID{})}, nil, nil},
		{"S-130 sorted", []unlinked{held(9, path+"-wal (deleted)", wal), held(7, path+"-wal (deleted)", wal), held(7, path+"-wal (deleted)", wal), held(7, path+"-shm (deleted)", other)}, nil,
			[]Holder{{PID: 7, Files: []string{"state.db-shm (deleted)", "state.db-wal (deleted)"}}, {PID: 9, Files: []string{"state.db-wal (deleted)"}}}},
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			got := retiredGenerations(c.found, path, func(path string) fileID { return c.names[path] })
			if len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestRetiredErrorText: S-131. It tells the person first, and its text alone classifies like its type.
func TestRetiredErrorText(t *testing.T) {
	for _, opening := range []bool{false, true} {
		err := error(&RetiredError{Path: "/h/state.db", Opening: opening, Holders: []Holder{{PID: 7, Files: []string{"state.db-wal (deleted)"}}}})
		text := err.Error()
		at := -1
		for _, says := range []string{
			"/h/state.db", "nothing that was saved is lost", "quit every Hermes process of this profile", "run hermes doctor", "do not delete the log",
			"do not run hermes doctor --fix meanwhile", RecoveryGuide, "deleted state.db-wal or state.db-shm", "PID 7 has state.db-wal (deleted)",
		} {
			next := strings.Index(text, says)
			if next <= at && says != "/h/state.db" {
				t.Errorf("%q is missing or out of order in %q", says, text)
			}
			at = next
		}
		if !errors.Is(err, ErrDeletedWAL) || !errors.Is(err, ErrReplaced) || Classify(err) != BucketDeletedWAL || Classify(errors.New(text)) != BucketDeletedWAL {
			t.Errorf("classified %s by type and %s by text", Classify(err), Classify(errors.New(text)))
		}
	}
}

// TestRetiredGenerationRefusesOpen: T-229, S-130, with another process and with this one as the holder.
func TestRetiredGenerationRefusesOpen(t *testing.T) {
	ctx := context.Background()
	refused := func(t *testing.T, path string, pid int) {
		t.Helper()
		if err := errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")); err != nil {
			t.Fatal(err)
		}
		for _, readOnly := range []bool{false, true} {
			_, err := Open(ctx, path, Options{ReadOnly: readOnly})
			var retired *RetiredError
			if !errors.As(err, &retired) || !retired.Opening || len(retired.Holders) != 1 || retired.Holders[0].PID != pid {
				t.Errorf("read-only %v: %v, want a refusal that names PID %d", readOnly, err, pid)
			}
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if _, err := os.Lstat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("state.db%s was minted anew: %v", suffix, err)
			}
		}
		holders, err := NewInventory(clock.RealClock{}).Retired(path)
		if err != nil || len(holders) != 1 || !strings.HasPrefix(holders[0].Command, filepath.Base(os.Args[0])) {
			t.Errorf("for hermes doctor (S-146): %+v, %v", holders, err)
		}
	}
	t.Run("another process", func(t *testing.T) {
		path := filled(t)
		c := startChild(t, "foreign", path, "UPDATE sessions SET title = 'x'")
		refused(t, path, c.cmd.Process.Pid)
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
		s := open(t, path, testOptions(t))
		if got, err := s.Messages(ctx, "s"); err != nil || len(got) != 40 {
			t.Errorf("once the holder is gone: %d rows, %v", len(got), err)
		}
	})
	t.Run("this process", func(t *testing.T) {
		path := filled(t)
		tx := foreignWriter(t, path)
		if _, err := tx.Exec("UPDATE sessions SET title = 'x'"); err != nil {
			t.Fatal(err)
		}
		refused(t, path, os.Getpid())
	})
}

// TestInventoryLooksOnceASecond: the cost of a burst of opens.
func TestInventoryLooksOnceASecond(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(testStart)
	looks := 0
	i := NewInventory(clock)
	i.scan = func() ([]unlinked, error) { looks++; return nil, nil }
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {0, 1}, {inventoryAge - 1, 1}, {1, 2}, {-time.Hour, 3}} {
		clock.SetTime(clock.Now().Add(step.wait))
		if _, err := i.Retired(storePath(t)); err != nil || looks != step.want {
			t.Errorf("after %s: looked %d times, want %d (%v)", step.wait, looks, step.want, err)
		}
	}
}

func TestWhatIs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id, path string
		known    bool
		told     bool
	}{
		{"S-134 there", file, true, true},
		{"S-134 gone", file + "x", false, true},
		{"S-134 cannot be told", filepath.Join(file, "below"), false, false},
	} {
		if now, told := whatIs(c.path); (now.ino != 0) != c.known || told != c.told {
			t.Errorf("%s: %+v, %v", c.id, now, told)
		}
	}
}
