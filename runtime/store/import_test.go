package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/test/pythonhome"
)

// fingerprint is every file of a directory with its time and content.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s %d %x\n", e.Name(), info.ModTime(), info.Size(), sha256.Sum256(data))
	}
	return out.String()
}

// killedHome is a store of a version whose log was never taken in, and a settled copy of it.
func killedHome(t *testing.T, version int) (copied string, want pythonhome.StoreCounts) {
	t.Helper()
	home := t.TempDir()
	w, want := pythonhome.OpenStore(t, home, version)
	w.LeaveLog(t, home)
	before := fingerprint(t, home)
	copied = filepath.Join(t.TempDir(), "copy.db")
	live, err := CopyForeign(context.Background(), filepath.Join(home, "state.db"), copied)
	if err != nil || live {
		t.Fatalf("live %v: %v", live, err)
	}
	if after := fingerprint(t, home); after != before {
		t.Errorf("the source changed:\n%s\nwas\n%s", after, before)
	}
	if entries, _ := os.ReadDir(filepath.Dir(copied)); len(entries) != 1 {
		t.Errorf("beside the copy: %v", entries)
	}
	return copied, want
}

func emptyStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(context.Background(), filepath.Join(t.TempDir(), "state.db"), Options{Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestImport takes over every version: all good rows with their lineage, none of the bad ones, and says which.
func TestImport(t *testing.T) {
	for _, version := range []int{1, 4, 6, 12, 20, 24, 30} {
		t.Run(fmt.Sprintf("schema %d", version), func(t *testing.T) {
			copied, want := killedHome(t, version)
			survey, err := SurveyImport(context.Background(), copied, ImportOptions{Profile: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			s := emptyStore(t)
			got, err := s.Import(context.Background(), copied, ImportOptions{Profile: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			if got.Sessions != want.Sessions || got.Messages != want.Messages || got.Usage != want.Usage || got.SchemaVersion != int64(version) {
				t.Errorf("imported %+v, want %+v", got, want)
			}
			if survey.Sessions != got.Sessions || survey.Messages != got.Messages || survey.Usage != got.Usage || survey.Skipped != got.Skipped {
				t.Errorf("survey %+v, import %+v", survey, got)
			}
			if got.Skipped != 6 || got.Repaired < 5 { // sessions: no id, binary id, no time; messages: no role, no time, nobody's
				t.Errorf("skipped %d, repaired %d:\n%s", got.Skipped, got.Repaired, strings.Join(got.Notes, "\n"))
			}
			checkImported(t, s, version)
			again, err := s.Import(context.Background(), copied, ImportOptions{Profile: "alice"})
			if err != nil || again.Sessions+again.Messages+again.Usage != 0 || again.Present != want.Sessions || again.Grown != 1 { // orphan's skipped messages
				t.Errorf("second import %+v: %v", again, err)
			}
		})
	}
}

func checkImported(t *testing.T, s *Store, version int) {
	t.Helper()
	c, found, err := s.Session(context.Background(), "20260103_090000_cccccc")
	if err != nil || !found || c.ParentID != "20260102_090000_bbbbbb" {
		t.Errorf("lineage: %+v %v", c, err)
	}
	if version >= 12 && c.SessionKey != "agent:alice:telegram:dm:42" {
		t.Errorf("key %q", c.SessionKey)
	}
	a, _, err := s.Session(context.Background(), "20260101_090000_aaaaaa")
	if err != nil || a.StartedAt.Unix() != 1767258000 || a.Usage.InputTokens != 10 || version >= 4 && a.Title != "Holiday plans" || version >= 24 && a.SystemPrompt != "You are Hermes." {
		t.Errorf("%+v %v", a, err)
	}
	rows, err := s.Messages(context.Background(), a.ID)
	if err != nil || len(rows) != 4 || len(rows[2].Content) != pythonhome.HugeMessage || !strings.Contains(string(rows[3].ToolCalls), "terminal") {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	rows, err = s.Messages(context.Background(), "orphan")
	if err != nil || len(rows) != 2 || rows[0].Content != "caf\uFFFD \uFFFD" || rows[1].Content != "bytes" {
		t.Errorf("repaired %+v, %v", rows, err)
	}
	if rows, err := s.Messages(context.Background(), "20260102_090000_bbbbbb"); err != nil || len(rows) != 2 {
		t.Errorf("S-102: compacted rows are active: %d, %v", len(rows), err)
	}
	for _, id := range []string{"circle-a", "circle-b", "line\nbreak", "weird \u202e name/../'; DROP TABLE sessions; --"} {
		if _, found, err := s.Session(context.Background(), id); !found || err != nil {
			t.Errorf("%q: %v %v", id, found, err)
		}
	}
	if version >= 24 {
		var generation int64
		if err := s.readers.QueryRow("SELECT generation FROM conversation_generations WHERE session_key = 'agent:alice:telegram:dm:42'").Scan(&generation); err != nil || generation != 7 {
			t.Errorf("S-101: generation %d: %v", generation, err)
		}
	}
	if err := checkIntegrity(context.Background(), s.readers); err != nil {
		t.Error(err)
	}
}

// TestImportBesideOthers: sessions of this store stay, and a title that is taken is changed, not lost.
func TestImportBesideOthers(t *testing.T) {
	copied, _ := killedHome(t, 30)
	s := emptyStore(t)
	ctx := context.Background()
	for _, own := range []Session{{ID: "own", Source: "cli", Title: "Holiday plans", TitleSource: "user"}, {ID: "circle-a", Source: "cli", Title: "mine", TitleSource: "user"}} {
		if _, _, err := s.EnsureSession(ctx, own); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(ctx, own.ID, Message{Role: "user", Content: "my own"}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := s.Import(ctx, copied, ImportOptions{})
	if err != nil || report.Present != 1 {
		t.Fatalf("%+v %v", report, err)
	}
	a, _, err := s.Session(ctx, "20260101_090000_aaaaaa")
	if err != nil || a.Title != "Holiday plans (imported 2)" {
		t.Errorf("title %q %v", a.Title, err)
	}
	if own, _, err := s.Session(ctx, "circle-a"); err != nil || own.Title != "mine" || own.MessageCount != 1 {
		t.Errorf("%+v %v", own, err)
	}
	if !slices.Contains(report.Unknown, "sessions.mood_of_the_day") {
		t.Errorf("unknown %v", report.Unknown)
	}
}

// TestCopyForeignLive: a process that is at work is not disturbed, and what it has committed is copied.
func TestCopyForeignLive(t *testing.T) {
	path := storePath(t)
	holder := startChild(t, "hold", path)
	copied := filepath.Join(t.TempDir(), "copy.db")
	live, err := CopyForeign(context.Background(), path, copied)
	if err != nil || !live {
		t.Fatalf("live %v: %v", live, err)
	}
	report, err := SurveyImport(context.Background(), copied, ImportOptions{})
	if err != nil || report.Sessions != 1 {
		t.Errorf("%+v: %v", report, err)
	}
	if err := errors.Join(holder.stdin.Close(), holder.cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if live, err := CopyForeign(context.Background(), path, copied+"2"); err != nil || live {
		t.Errorf("after it ended: live %v, %v", live, err)
	}
}

// TestCopyDatabaseUnderAWriter of another program, which goes on.
func TestCopyDatabaseUnderAWriter(t *testing.T) {
	home := t.TempDir()
	w, want := pythonhome.OpenStore(t, home, 30)
	defer w.Close(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := CopyDatabase(context.Background(), filepath.Join(home, "state.db"), copied); err != nil {
		t.Fatal(err)
	}
	report, err := SurveyImport(context.Background(), copied, ImportOptions{})
	if err != nil || report.Sessions != want.Sessions || report.Messages != want.Messages {
		t.Errorf("%+v, want %+v: %v", report, want, err)
	}
	if _, err := w.DB.Exec("INSERT INTO sessions (id, source, started_at) VALUES ('later', 'cli', 1)"); err != nil {
		t.Errorf("the writer cannot go on: %v", err)
	}
}

// TestImportRefuses files that are not sound stores of a known version, and adds nothing.
func TestImportRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		want   error
	}{
		"newer":   {func(t *testing.T, path string) { execIn(t, path, "UPDATE schema_version SET version = 31") }, ErrSchema},
		"foreign": {func(t *testing.T, path string) { execIn(t, path, "DROP TABLE messages") }, ErrSchema},
		"damaged": {func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < 9*4096; i++ {
				data[i] ^= 0x5a
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, ErrCorrupt},
		"gone": {func(_ *testing.T, path string) { _ = os.Remove(path) }, os.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			copied, _ := killedHome(t, 30)
			c.change(t, copied)
			s := emptyStore(t)
			if _, err := s.Import(context.Background(), copied, ImportOptions{}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if stats, err := s.Stats(context.Background()); err != nil || stats.Sessions != 0 {
				t.Errorf("%+v %v", stats, err)
			}
		})
	}
}

// TestOrderParentsFirst is the truth table of lineage.
func TestOrderParentsFirst(t *testing.T) {
	for _, c := range []struct{ name, in, want, broken string }{
		{"none", "", "", ""},
		{"already in order", "a: b:a c:b", "a b c", ""},
		{"youngest first", "c:b b:a a:", "a b c", ""},
		{"two children", "b:a c:a a:", "a b c", ""},
		{"missing parent", "b:x a:", "b a", "b"},
		{"own parent", "a:a", "a", "a"},
		{"circle of two", "a:b b:a", "b a", "b"},
		{"circle of three with a tail", "t:a a:b b:c c:a", "c b a t", "c"},
	} {
		var items []importItem
		for _, f := range strings.Fields(c.in) {
			id, parent, _ := strings.Cut(f, ":")
			items = append(items, importItem{id: id, parent: parent})
		}
		ordered, broken := orderParentsFirst(items)
		var got []string
		for _, item := range ordered {
			got = append(got, item.id)
		}
		if strings.Join(got, " ") != c.want || strings.Join(broken, " ") != c.broken {
			t.Errorf("%s: %v, broken %v", c.name, got, broken)
		}
	}
}

// TestRekeyG117 is the truth table of routing keys that move to another profile.
func TestRekeyG117(t *testing.T) {
	for _, c := range [][3]string{
		{"agent:main:telegram:dm:42", "alice", "agent:alice:telegram:dm:42"}, {"agent:bob:x", "default", "agent:main:x"},
		{"agent:bob:x", "main", "agent:main~:x"}, {"agent:main:x", "", "agent:main:x"}, {"other:main:x", "alice", "other:main:x"},
		{"agent:main", "alice", "agent:main"}, {"", "alice", ""},
	} {
		if got := rekey(c[0], c[1]); got != c[2] {
			t.Errorf("%s for %s: %s", c[0], c[1], got)
		}
	}
}
