package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestNotes(t *testing.T) {
	have := notes{"likes tea", "works on trains", "likes trains"}
	long := strings.Repeat("x", 90)
	for _, tt := range []struct {
		name, action, text, old string
		want                    string
		err                     string
	}{
		{"add", "add", "new", "", "likes tea|works on trains|likes trains|new", ""},
		{"add what is there", "add", "likes tea", "", "likes tea|works on trains|likes trains", ""},
		{"add nothing", "add", "  \n", "", "", "empty"},
		{"add a separator", "add", "a\n§\nb", "", "", "separates notes"},
		{"a paragraph sign within a line stays", "add", "see § 3", "", "likes tea|works on trains|likes trains|see § 3", ""},
		{"add what cannot be seen", "add", "a\u200bb", "", "", "cannot be seen"},
		{"add a direction override", "add", "a\u202eb", "", "", "cannot be seen"},
		{"add an escape", "add", "a\x1b[8m", "", "", "cannot be seen"},
		{"add framing", "add", "<|im_end|>", "", "likes tea|works on trains|likes trains|< |im_end| >", ""},
		{"too much", "add", long, "", "", "limit is 100"},
		{"replace", "replace", "likes coffee", "tea", "likes coffee|works on trains|likes trains", ""},
		{"replace by whole note", "replace", "x", "likes trains", "likes tea|works on trains|x", ""},
		{"replace ambiguous", "replace", "x", "trains", "", "2 notes contain"},
		{"replace missing", "replace", "x", "coffee", "", "no note contains"},
		{"remove", "remove", "", "works", "likes tea|likes trains", ""},
		{"remove without saying which", "remove", "", " ", "", "old_text has to say"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := have.change(tt.action, tt.text, tt.old, 100)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Join(got, "|") != strings.Join(have, "|") {
					t.Errorf("%v, %v, want %q", got, err, tt.err)
				}
				return
			}
			if err != nil || strings.Join(got, "|") != tt.want || strings.Join(parseNotes(got.String()), "|") != tt.want {
				t.Errorf("%v, %v, want %s", got, err, tt.want)
			}
		})
	}
	over := notes{long, long}
	if got, err := over.change("remove", "", long, 10); err != nil || len(got) != 1 {
		t.Errorf("a file over the limit cannot shrink: %v, %v", got, err)
	}
}

func TestMemory(t *testing.T) {
	declared := map[string]bool{}
	s := newTestSet(t, func(c *Config) { c.Declared = func(rel string) bool { return declared[rel] } })
	home := s.config.Home
	path := filepath.Join(home, "memories", "MEMORY.md")
	if got := s.Prompt(t.Context()); got != "" {
		t.Errorf("prompt of an empty home = %q", got)
	}
	must(t, s, "memory", map[string]any{"action": "add", "text": "the build runs with make"})
	frozen := s.Prompt(t.Context())
	must(t, s, "memory", map[string]any{"action": "add", "text": "tests are slow"})
	must(t, s, "memory", map[string]any{"action": "add", "target": "user", "text": "called Ada"})
	got := must(t, s, "memory", map[string]any{"action": "read"})
	if got != "the build runs with make\n§\ntests are slow\n[memories/MEMORY.md: 2 notes; 42 of 2200 characters]" {
		t.Errorf("read = %q", got)
	}
	if readBack(t, path) != "the build runs with make\n§\ntests are slow\n" || readBack(t, filepath.Join(home, "memories", "USER.md")) != "called Ada\n" {
		t.Errorf("files = %q", readBack(t, path))
	}
	if !strings.Contains(frozen, "the build runs with make") || strings.Contains(frozen, "slow") {
		t.Errorf("prompt = %q", frozen)
	}
	if now := s.Prompt(t.Context()); !strings.Contains(now, "tests are slow") || !strings.Contains(now, "called Ada") {
		t.Errorf("prompt of the next session = %q", now)
	}
	refused(t, s, "memory", map[string]any{"action": "add", "text": strings.Repeat("long ", 1000)}, "limit is 2200")
	// What the profile declares would be written over.
	declared["memories/USER.md"] = true
	refused(t, s, "memory", map[string]any{"action": "add", "target": "user", "text": "x"}, "declared in the profile")
	must(t, s, "memory", map[string]any{"action": "read", "target": "user"})
	// A link out of the home is not read and not written through.
	outside := filepath.Join(t.TempDir(), "outside")
	writeTree(t, filepath.Dir(outside), map[string]string{"outside": "do not read"})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	symlink(t, outside, path)
	refused(t, s, "memory", map[string]any{"action": "add", "text": "x"}, "outside")
	if now := s.Prompt(t.Context()); strings.Contains(now, "do not read") || !strings.Contains(now, "MEMORY.md was not read") || readBack(t, outside) != "do not read" {
		t.Errorf("prompt = %q, outside %q", now, readBack(t, outside))
	}
	off := newTestSet(t, func(c *Config) { c.Home, c.Workspace, c.DisabledToolsets = home, home+"/workspace", []string{"memory"} })
	if got := off.Prompt(t.Context()); got != "" {
		t.Errorf("prompt without the toolset = %q", got)
	}
}

// The list belongs to one session and is there after a restart, whatever became of the transcript.
func TestTodoList(t *testing.T) {
	s := newTestSet(t, nil)
	item := func(text, status string) map[string]any { return map[string]any{"text": text, "status": status} }
	if got := must(t, s, "todo_list", nil); got != "[the list is empty]" {
		t.Errorf("empty = %q", got)
	}
	must(t, s, "todo_list", map[string]any{"items": []any{item("plan", "done"), item("build\nit", "in_progress"), item("test", "pending")}})
	want := "1. [x] plan\n2. [>] build⏎it\n3. [ ] test\n[2 of 3 open]"
	again := newTestSet(t, func(c *Config) { c.Home, c.Workspace = s.config.Home, s.config.Home+"/workspace" })
	if got := must(t, again, "todo_list", nil); got != want {
		t.Errorf("after a restart = %q", got)
	}
	if r := again.Run(t.Context(), "../s2", call("todo_list", nil), nil); r.Content != "[the list is empty]" {
		t.Errorf("another session = %q", r.Content)
	}
	refused(t, s, "todo_list", map[string]any{"items": []any{item("x", "maybe")}}, "enum")
	if err := ForgetSession(s.config.Home, "s1"); err != nil {
		t.Fatal(err)
	}
	if got := must(t, s, "todo_list", nil); got != "[the list is empty]" {
		t.Errorf("after the session was forgotten = %q", got)
	}
	if err := errors.Join(ForgetSession(s.config.Home, "s1")); err != nil {
		t.Error(err)
	}
	must(t, s, "todo_list", map[string]any{"items": []any{item("x", "pending")}})
	must(t, s, "todo_list", map[string]any{"items": []any{}})
	if left, _ := os.ReadDir(filepath.Join(s.config.Home, "sessions", "todo")); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestPruneOldest(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		name := filepath.Join(dir, fmt.Sprint(i))
		writeTree(t, dir, map[string]string{fmt.Sprint(i): ""})
		at := time.Unix(int64(1000-i), 0)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := pruneOldest(dir, 2); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 || left[0].Name() != "0" || left[1].Name() != "1" {
		t.Errorf("left %v", left)
	}
}

func TestClarify(t *testing.T) {
	args := map[string]any{"question": "Which one?", "options": []string{"red", "blue"}}
	answer := func(text string, d Decision, err error) ApproveFunc {
		return func(_ context.Context, r ApprovalRequest) (Decision, error) {
			if r.Tool != "clarify" || r.Question == nil || r.Question.Question != "Which one?" || strings.Join(r.Question.Options, " ") != "red blue" || r.SessionID != "s1" {
				t.Errorf("asked %+v", r)
			}
			r.Question.Answer = text
			return d, err
		}
	}
	for _, mode := range []Mode{ModeAsk, ModeAllow, ModeDeny} {
		s := newTestSet(t, func(c *Config) { c.Mode = mode })
		if !s.Interactive("clarify") {
			t.Error("clarify must not run beside other calls (L7)")
		}
		for _, tt := range []struct {
			ask   ApproveFunc
			want  string
			isErr bool
		}{
			{answer("green", DecisionOnce, nil), "The person answers: green", false},
			{nil, "nobody is present", true},
			{answer("", DecisionOnce, nil), "cannot show questions", true},
			{answer("", DecisionDeny, nil), "does not want to answer", true},
			{answer("", DecisionDeny, context.DeadlineExceeded), "nobody answered in time", true},
			{answer("late", DecisionDeny, errors.New("socket closed")), "socket closed", true},
		} {
			if r := s.Run(t.Context(), "s1", call("clarify", args), tt.ask); r.IsError != tt.isErr || !strings.Contains(r.Content, tt.want) {
				t.Errorf("mode %d: %+v, want %q", mode, r, tt.want)
			}
		}
	}
}

// searcher finds what it is told.
type searcher struct {
	hits  []SessionHit
	asked string
}

func (f *searcher) SearchSessions(_ context.Context, query, session string, limit int) ([]SessionHit, error) {
	f.asked = fmt.Sprint(query, " ", session, " ", limit)
	return f.hits, nil
}

func TestSessionSearch(t *testing.T) {
	if r := newTestSet(t, nil).Run(t.Context(), "s", call("session_search", map[string]any{"query": "x"}), nil); !r.IsError {
		t.Error("it is offered without a store")
	}
	f := &searcher{}
	s := newTestSet(t, func(c *Config) { c.Sessions = f })
	if got := must(t, s, "session_search", map[string]any{"query": "tea"}); !strings.Contains(got, "nothing was found") || f.asked != "tea  10" {
		t.Errorf("%q, asked %q", got, f.asked)
	}
	f.hits = []SessionHit{{SessionID: "20261130_1", Title: "Tea \"time\"", Role: "user", Excerpt: "I like\ntea <|im_end|>", At: time.Unix(0, 0)}}
	want := "session 20261130_1 \"Tea \\\"time\\\"\", 1970-01-01 00:00:00, user:\n  I like⏎tea < |im_end| >\n"
	if got := must(t, s, "session_search", map[string]any{"query": "tea", "session_id": "a", "limit": 3}); got != want || f.asked != "tea a 3" {
		t.Errorf("%q, asked %q", got, f.asked)
	}
}
