package pythonhome

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // registers the driver
)

// HugeMessage is the size of the longest message of the store, in bytes.
const HugeMessage = 3 << 20

// StoreCounts are what the store of a home holds that can be taken over.
type StoreCounts struct{ Sessions, Messages, Usage int64 }

// column is one column of the Python agent's schema and the version that brought it.
type column struct {
	since int
	decl  string
}

var sessionColumns = []column{
	{1, "id TEXT PRIMARY KEY"}, {1, "source TEXT NOT NULL"}, {1, "user_id TEXT"}, {1, "model TEXT"}, {1, "model_config TEXT"}, {1, "system_prompt TEXT"},
	{1, "parent_session_id TEXT REFERENCES sessions(id)"}, {1, "started_at REAL NOT NULL"}, {1, "ended_at REAL"}, {1, "end_reason TEXT"},
	{1, "message_count INTEGER DEFAULT 0"}, {1, "tool_call_count INTEGER DEFAULT 0"}, {1, "input_tokens INTEGER DEFAULT 0"}, {1, "output_tokens INTEGER DEFAULT 0"},
	{4, "title TEXT"}, {6, "cache_read_tokens INTEGER DEFAULT 0"}, {6, "cache_write_tokens INTEGER DEFAULT 0"}, {6, "reasoning_tokens INTEGER DEFAULT 0"},
	{6, "estimated_cost_usd REAL"}, {6, "cost_status TEXT"}, {12, "session_key TEXT"}, {12, "chat_id TEXT"}, {12, "cwd TEXT"}, {20, "last_activity_at REAL"},
	{20, "api_call_count INTEGER DEFAULT 0"}, {24, "system_prompt_hash TEXT"}, {24, "archived INTEGER DEFAULT 0"}, {24, "title_source TEXT"},
	{30, "pinned INTEGER DEFAULT 0"}, {30, "hidden INTEGER DEFAULT 0"}, {30, "profile_name TEXT"}, {30, "tool_names TEXT"},
	{30, "mood_of_the_day TEXT"}, // a plugin's own
}

var messageColumns = []column{
	{1, "id INTEGER PRIMARY KEY AUTOINCREMENT"}, {1, "session_id TEXT NOT NULL REFERENCES sessions(id)"}, {1, "role TEXT NOT NULL"}, {1, "content TEXT"},
	{1, "tool_call_id TEXT"}, {1, "tool_calls TEXT"}, {1, "tool_name TEXT"}, {1, "timestamp REAL NOT NULL"}, {1, "token_count INTEGER"}, {1, "finish_reason TEXT"},
	{6, "reasoning TEXT"}, {12, "reasoning_details TEXT"}, {20, "active INTEGER NOT NULL DEFAULT 1"}, {20, "compacted INTEGER DEFAULT 0"},
	{24, "api_content TEXT"}, {24, "observed INTEGER DEFAULT 0"}, {30, "display_kind TEXT"}, {30, "display_order INTEGER"},
}

func ddl(table string, columns []column, version int) string {
	var decls []string
	for _, c := range columns {
		if c.since <= version {
			decls = append(decls, c.decl)
		}
	}
	return "CREATE TABLE " + table + " (" + strings.Join(decls, ", ") + ")"
}

// Writer is a Python agent that has its store open. Close it, or leave it open to be one that is at work.
type Writer struct{ DB *sql.DB }

// Close ends it as a clean exit does: the log is taken in.
func (w *Writer) Close(t testing.TB) {
	t.Helper()
	if err := w.DB.Close(); err != nil {
		t.Fatal(err)
	}
}

func (w *Writer) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := w.DB.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// OpenStore makes state.db of a version in a home, with rows good and bad, in write-ahead mode, and keeps it open.
func OpenStore(t testing.TB, home string, version int) (*Writer, StoreCounts) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "state.db")+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	w := &Writer{DB: db}
	w.exec(t, "CREATE TABLE schema_version (version INTEGER NOT NULL)")
	w.exec(t, "INSERT INTO schema_version VALUES (?)", version)
	w.exec(t, ddl("sessions", sessionColumns, version))
	w.exec(t, ddl("messages", messageColumns, version))
	w.exec(t, "CREATE INDEX idx_messages_session ON messages(session_id, timestamp)")
	w.exec(t, "CREATE TABLE plugin_notes (id INTEGER PRIMARY KEY, text TEXT)")
	counts := StoreCounts{}
	counts.add(goodSessions(t, w, version))
	counts.add(badRows(t, w))
	if version >= 24 {
		counts.add(lateTables(t, w))
	}
	return w, counts
}

func (c *StoreCounts) add(o StoreCounts) {
	c.Sessions += o.Sessions
	c.Messages += o.Messages
	c.Usage += o.Usage
}

// goodSessions: a chain of three in which the youngest was written first, odd names and a huge message.
func goodSessions(t testing.TB, w *Writer, version int) StoreCounts {
	session := func(id, parent string, started float64) {
		w.exec(t, "INSERT INTO sessions (id, source, model, parent_session_id, started_at, message_count, input_tokens) VALUES (?, 'cli', 'gpt-x', NULLIF(?, ''), ?, 2, 10)", id, parent, started)
	}
	message := func(id, role, content string, at float64) {
		w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)", id, role, content, at)
	}
	session("20260103_090000_cccccc", "20260102_090000_bbbbbb", 1767430800)
	session("20260102_090000_bbbbbb", "20260101_090000_aaaaaa", 1767344400)
	session("20260101_090000_aaaaaa", "", 1767258000)
	session("weird \u202e name/../'; DROP TABLE sessions; --", "", 1767258001)
	session("line\nbreak", "", 1767258002.25)
	n := int64(0)
	for _, id := range []string{"20260101_090000_aaaaaa", "20260102_090000_bbbbbb", "20260103_090000_cccccc", "weird \u202e name/../'; DROP TABLE sessions; --", "line\nbreak"} {
		message(id, "user", "hello from "+id, 1767258003)
		message(id, "assistant", "reply to "+id, 1767258004.5)
		n += 2
	}
	message("20260101_090000_aaaaaa", "tool", strings.Repeat("x", HugeMessage), 1767258005)
	w.exec(t, "INSERT INTO messages (session_id, role, content, tool_calls, timestamp) VALUES ('20260101_090000_aaaaaa', 'assistant', NULL, ?, 1767258006)", `[{"id":"1","function":{"name":"terminal","arguments":"{}"}}]`)
	n += 2
	if version >= 4 {
		w.exec(t, "UPDATE sessions SET title = 'Holiday plans' WHERE id = '20260101_090000_aaaaaa'")
	}
	if version >= 12 {
		w.exec(t, "UPDATE sessions SET session_key = 'agent:main:telegram:dm:42' WHERE id = '20260103_090000_cccccc'")
	}
	if version >= 20 {
		w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp, active, compacted) VALUES ('20260102_090000_bbbbbb', 'user', 'old words', 1767258000, 0, 1)")
		n++
	}
	return StoreCounts{Sessions: 5, Messages: n}
}

// badRows: what cannot be taken over, and what can once it is repaired.
func badRows(t testing.TB, w *Writer) StoreCounts {
	w.exec(t, "INSERT INTO sessions (id, source, started_at) VALUES ('', 'cli', 1)")                                                   // no id: skipped
	w.exec(t, "INSERT INTO sessions (id, source, started_at) VALUES (x'00ff', 'cli', 1)")                                              // binary id: skipped
	w.exec(t, "INSERT INTO sessions (id, source, started_at) VALUES ('no-time', 'cli', 'yesterday')")                                  // skipped
	w.exec(t, "INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('orphan', 'cli', '2026-01-01T09:00:00', 'x')") // repaired twice
	w.exec(t, "INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('circle-a', 'cli', 5, 'circle-b'), ('circle-b', 'cli', 6, 'circle-a')")
	for _, content := range []any{"caf\xe9 \xff", []byte("bytes")} {
		w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('orphan', 'user', ?, 7)", content) // repaired
	}
	w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('orphan', '', 'no role', 8)")          // skipped
	w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('orphan', 'user', 'no time', 'when')") // skipped
	w.exec(t, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('gone', 'user', 'nobody''s', 9)")      // skipped
	return StoreCounts{Sessions: 3, Messages: 2}
}

// lateTables came with later versions.
func lateTables(t testing.TB, w *Writer) StoreCounts {
	w.exec(t, "CREATE TABLE system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL)")
	w.exec(t, "INSERT INTO system_prompts VALUES ('h1', 'You are Hermes.')")
	w.exec(t, "UPDATE sessions SET system_prompt_hash = 'h1' WHERE id = '20260101_090000_aaaaaa'")
	w.exec(t, "UPDATE sessions SET system_prompt_hash = 'h2' WHERE id = 'line\nbreak'") // a prompt that is missing
	w.exec(t, `CREATE TABLE session_model_usage (session_id TEXT NOT NULL, model TEXT NOT NULL DEFAULT '', billing_provider TEXT NOT NULL DEFAULT '',
		billing_base_url TEXT NOT NULL DEFAULT '', billing_mode TEXT NOT NULL DEFAULT '', task TEXT NOT NULL DEFAULT '', api_call_count INTEGER DEFAULT 0,
		input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0, first_seen REAL, last_seen REAL,
		PRIMARY KEY (session_id, model, billing_provider, billing_base_url, billing_mode, task))`)
	w.exec(t, "INSERT INTO session_model_usage (session_id, model, api_call_count, input_tokens) VALUES ('20260101_090000_aaaaaa', 'gpt-x', 3, 100), ('20260102_090000_bbbbbb', 'gpt-y', 1, 5)")
	w.exec(t, "CREATE TABLE conversation_generations (source TEXT NOT NULL, session_key TEXT NOT NULL, generation INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (source, session_key))")
	w.exec(t, "INSERT INTO conversation_generations VALUES ('telegram', 'agent:main:telegram:dm:42', 7)")
	w.exec(t, "CREATE TABLE gateway_heartbeats (backend_id TEXT PRIMARY KEY, pid INTEGER)")
	return StoreCounts{Usage: 2}
}

// LeaveLog ends the writer as a kill does: the log stays beside the database and holds most of its rows.
func (w *Writer) LeaveLog(t testing.TB, home string) {
	t.Helper()
	saved := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(home, "state.db"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		saved[suffix] = data
	}
	if len(saved["-wal"]) < HugeMessage {
		t.Fatal(fmt.Errorf("the log has only %d bytes", len(saved["-wal"])))
	}
	w.Close(t)
	for suffix, data := range saved {
		if err := os.WriteFile(filepath.Join(home, "state.db"+suffix), data, 0o644); err != nil { // as the Python agent leaves it
			t.Fatal(err)
		}
	}
}
