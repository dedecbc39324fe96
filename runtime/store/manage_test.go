package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPickSession(t *testing.T) {
	all := []SessionName{{"20261129_1", "Friday"}, {"20261129_2", "friday"}, {"20261130_3", "20261129_1"}, {"x", "Alone"}, {"xy", ""}}
	for name, c := range map[string]struct{ ref, want, says string }{
		"an id before a title":                  {"20261129_1", "20261129_1", ""},
		"a title as written":                    {"friday", "20261129_2", ""},
		"the beginning of an id":                {"20261130", "20261130_3", ""},
		"a whole id that begins another":        {"x", "x", ""},
		"a title in other case":                 {"ALONE", "x", ""},
		"the beginning of several ids":          {"2026", "", "20261129_1, 20261129_2, 20261130_3"},
		"titles that differ in case only":       {"FRIDAY", "", "fits 2 sessions"},
		"nothing":                               {"", "", "no session was named"},
		"one there is none of":                  {"z", "", "no such session"},
		"the beginning of a title is no match":  {"Fri", "", "no such session"},
		"an empty title is not a name":          {" ", "", "no such session"},
		"letters that mean something elsewhere": {"%", "", "no such session"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := pickSession(strings.TrimSpace(c.ref), all)
			if got != c.want || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) && !errors.Is(err, ErrNoSession) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestResolveSession(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	for _, id := range []string{"abc1", "abc2", "a%c"} {
		ensure(t, s, id)
	}
	if _, err := s.Rename(ctx, "abc2", "Tax return"); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{"abc1": "abc1", " tax RETURN ": "abc2", "a%": "a%c"} {
		if got, err := s.ResolveSession(ctx, ref); err != nil || got != want {
			t.Errorf("%q: %q, %v", ref, got, err)
		}
	}
	if _, err := s.ResolveSession(ctx, "abc"); !errors.Is(err, ErrAmbiguousSession) {
		t.Errorf("ambiguous: %v", err)
	}
	if _, err := s.ResolveSession(ctx, "none"); !errors.Is(err, ErrNoSession) {
		t.Errorf("none: %v", err)
	}
}

func TestRename(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "a")
	ensure(t, s, "b")
	if got, err := s.Rename(ctx, "a", "  Tax\n return "); err != nil || got != "Tax return" {
		t.Fatalf("%q %v", got, err)
	}
	if got, _, _ := s.Session(ctx, "a"); got.Title != "Tax return" || got.TitleSource != TitleUser {
		t.Errorf("stored %+v", got)
	}
	_, err := s.Rename(ctx, "b", "Tax return")
	if !errors.Is(err, ErrTitleTaken) || !strings.Contains(err.Error(), "session a") {
		t.Errorf("taken: %v", err)
	}
	for _, bad := range []string{"bell\a", "turn\u202ed", strings.Repeat("x", 101)} {
		if _, err := s.Rename(ctx, "b", bad); !errors.Is(err, ErrBadTitle) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := s.Rename(ctx, "none", "x"); !errors.Is(err, ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
	if _, err := s.Rename(ctx, "a", ""); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := s.Session(ctx, "a"); got.Title != "" || got.TitleSource != "" {
		t.Errorf("after taking the title away: %+v", got)
	}
}

func TestSessionsSince(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	for i, id := range []string{"old", "new"} {
		if _, _, err := s.EnsureSession(ctx, Session{ID: id, Source: "cli", StartedAt: testStart.Add(time.Duration(i) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Sessions(ctx, ListOptions{Since: testStart.Add(time.Minute)})
	if err != nil || len(got) != 1 || got[0].ID != "new" {
		t.Errorf("%+v %v", got, err)
	}
}

// exported is a session with everything an export has to decide about.
func exported(t *testing.T) *Store {
	t.Helper()
	ctx := context.Background()
	s := still(t, storePath(t))
	session := Session{ID: "s", Source: "cli", Model: "m", Title: "Tax return", TitleSource: TitleUser, SystemPrompt: "be kind"}
	if _, _, err := s.EnsureSession(ctx, session); err != nil {
		t.Fatal(err)
	}
	at := testStart
	for _, m := range []Message{
		{Role: "user", Content: "replaced"}, {Role: "user", Content: "kept"}, {Role: "user", Content: "taken back"},
		{Role: "user", Content: "summary", CompressedSummary: true}, {Role: "user", Content: "kept"},
		{Role: "assistant", Content: "Looking.", ToolCalls: json.RawMessage(`[{"id":"1","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]`)},
		{Role: "tool", ToolName: "read_file", ToolCallID: "1", Content: "```\nfenced\n```"},
		{Role: "assistant", Content: "Done."},
	} {
		at = at.Add(time.Second)
		m.Timestamp = at
		if m.Content == "kept" {
			m.Timestamp = testStart
		}
		if _, err := s.Append(ctx, "s", m); err != nil {
			t.Fatal(err)
		}
	}
	directly(t, s, "UPDATE messages SET active = 0, compacted = 1 WHERE id <= 2", "UPDATE messages SET active = 0 WHERE id = 3")
	return s
}

func TestExportMarkdown(t *testing.T) {
	s := exported(t)
	var out bytes.Buffer
	if err := s.Export(context.Background(), &out, "s", ExportMarkdown); err != nil {
		t.Fatal(err)
	}
	want := `# Tax return

- Session: s
- Source: cli
- Model: m
- Started: 2026-11-29 12:00:00 UTC

## User · 2026-11-29 12:00:01 UTC

replaced

## User · 2026-11-29 12:00:00 UTC

kept

## Assistant · 2026-11-29 12:00:06 UTC

Looking.

Calls read_file:

~~~json
{"path":"a"}
~~~

## Tool read_file · 2026-11-29 12:00:07 UTC

~~~~
~~~
fenced
~~~
~~~~

## Assistant · 2026-11-29 12:00:08 UTC

Done.
`
	if want = strings.ReplaceAll(want, "~", "`"); out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestExportJSONL(t *testing.T) {
	ctx := context.Background()
	s := exported(t)
	many := make([]string, 2*exportPage+1) // more than one page
	for i := range many {
		many[i] = "more\nlines"
	}
	say(t, s, "s", many...)
	ensure(t, s, "empty")
	var out bytes.Buffer
	for _, id := range []string{"s", "empty"} {
		if err := s.Export(ctx, &out, id, ExportJSONL); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one a session", len(lines))
	}
	var got struct {
		ExportedSession
		Messages []ExportedMessage `json:"messages"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Title != "Tax return" || got.SystemPrompt != "be kind" || len(got.Messages) != 8+len(many) {
		t.Errorf("%+v, %d messages", got.ExportedSession, len(got.Messages))
	}
	var states []string
	for _, m := range got.Messages[:8] {
		states = append(states, m.State)
	}
	if strings.Join(states, ",") != "compacted,compacted,undone,,,,," || !got.Messages[3].Summary || got.Messages[6].ToolCallID != "1" {
		t.Errorf("states %q, %+v", states, got.Messages[3])
	}
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil || got.ID != "empty" || len(got.Messages) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Export(ctx, &out, "none", ExportJSONL); !errors.Is(err, ErrNoSession) {
		t.Errorf("no session: %v", err)
	}
	if err := s.Export(ctx, &out, "s", "xml"); err == nil || !strings.Contains(err.Error(), "use jsonl or markdown") {
		t.Errorf("format: %v", err)
	}
}

// A deleted session leaves the index and the list, and its generation counter stays (S-101).
func TestS101DeletedSessionIsNotFound(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	for _, id := range []string{"gone", "kept"} {
		ensure(t, s, id)
		say(t, s, id, "apple in "+id)
	}
	directly(t, s, "INSERT INTO conversation_generations VALUES ('cli', 'gone', 7)")
	indexAll(t, s)
	say(t, s, "gone", "apple not indexed")
	if _, err := s.DeleteSession(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	checkAgreement(t, s)
	checkIndex(t, s)
	if got := found(t, s, SearchOptions{Query: "apple"}); len(got) != 1 || got[0] != ">>>apple<<< in kept" {
		t.Errorf("found %q", got)
	}
	var generation int
	if err := s.readers.QueryRow("SELECT generation FROM conversation_generations").Scan(&generation); err != nil || generation != 7 {
		t.Errorf("generation %d, %v", generation, err)
	}
}

func TestCompleteIndex(t *testing.T) {
	ctx := context.Background()
	s := still(t, storePath(t))
	ensure(t, s, "s")
	say(t, s, "s", "one", "two")
	if state, err := s.IndexState(ctx); err != nil || (state != IndexState{Version: "3", Current: true, Missing: 2}) {
		t.Errorf("%+v %v", state, err)
	}
	for _, c := range []struct {
		name, spoil string
		rows        int64
	}{
		{"rows wait", "SELECT 1", 2},
		{"nothing to do", "SELECT 1", 0},
		{"an older one", "UPDATE state_meta SET value = '2' WHERE key = 'fts_storage_version'", 2},
		{"a damaged one", "UPDATE messages_fts_data SET block = x'ffff' WHERE id > 1", 2},
		{"records differ", "DELETE FROM messages_fts_docsize", 2},
	} {
		directly(t, s, c.spoil)
		if rows, err := s.CompleteIndex(ctx); err != nil || rows != c.rows {
			t.Errorf("%s: %d rows, %v", c.name, rows, err)
		}
		checkAgreement(t, s)
	}
	if state, err := s.IndexState(ctx); err != nil || state.Missing != 0 {
		t.Errorf("%+v %v", state, err)
	}
}
