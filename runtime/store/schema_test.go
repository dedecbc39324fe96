package store

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
)

// script runs SQL on a file without the store.
func script(t *testing.T, path string, statements ...string) {
	t.Helper()
	pool, err := openDB(path, 1, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, statement := range statements {
		if _, err := pool.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestSchemaParsesAsSQLiteSeesIt: what the comparison wants is what a new file has, column by column.
func TestSchemaParsesAsSQLiteSeesIt(t *testing.T) {
	ctx := context.Background()
	pool, err := sql.Open(driverName, ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	if _, err := pool.Exec(schemaSQL + indexesSQL); err != nil {
		t.Fatal(err)
	}
	tables, indexes := parseTables(schemaSQL), parseIndexes(indexesSQL)
	live, err := readSchema(ctx, pool, tables)
	if err != nil {
		t.Fatal(err)
	}
	if live.others != 0 || len(live.columns) != len(tables) || len(live.indexes) != len(indexes) {
		t.Errorf("parsed %d tables and %d indexes; live: %d, %d and %d unknown",
			len(tables), len(indexes), len(live.columns), len(live.indexes), live.others)
	}
	for _, table := range tables {
		var want []string
		for _, c := range table.columns {
			want = append(want, c.name)
		}
		if got := live.columns[table.name]; !slices.Equal(got, want) {
			t.Errorf("%s: parsed %v, live %v", table.name, want, got)
		}
	}
}

// TestSchemaHasEverySpecifiedColumn: section 2.1 and S-201.
func TestSchemaHasEverySpecifiedColumn(t *testing.T) {
	want := map[string]string{
		"sessions": `id source created_source user_id session_key chat_id chat_type thread_id display_name origin_json
			expiry_finalized model model_config system_prompt system_prompt_hash parent_session_id started_at ended_at
			end_reason message_count tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens
			reasoning_tokens api_call_count cwd git_branch git_repo_root git_metadata_generation billing_provider
			billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status cost_source pricing_version
			title title_source last_activity_at last_activity_description last_activity_provenance handoff_state
			handoff_platform handoff_error compression_failure_cooldown_until compression_failure_error
			compression_fallback_streak compression_ineffective_count compression_recovery_deadline
			compression_overload_streak profile_name transport_profile rewind_count archived pinned hidden last_read_at
			tool_names`,
		"messages": `id session_id role content tool_call_id tool_calls tool_name effect_disposition timestamp
			token_count finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items
			codex_message_items platform_message_id observed _compressed_summary active compacted api_content
			display_kind display_metadata display_identity display_order`,
		"schema_version": "version", "system_prompts": "hash prompt", "state_meta": "key value",
		"session_model_usage": `session_id model billing_provider billing_base_url billing_mode task first_seen last_seen
			input_tokens output_tokens api_call_count estimated_cost_usd`,
		"gateway_routing":          "scope session_key entry_json updated_at",
		"gateway_hygiene_state":    "session_key failure_streak",
		"conversation_generations": "source session_key generation",
		"gateway_heartbeats":       "backend_id pid started_at last_heartbeat profile host",
		"compression_locks":        "session_id holder acquired_at expires_at",
		"session_turn_leases":      "conversation_id holder acquired_at expires_at",
		"async_delegations": `delegation_id origin_session origin_ui_session_id parent_session_id state dispatched_at
			completed_at updated_at event_json result_json delivery_state delivery_attempts delivered_at owner_pid
			owner_started_at task_json delivery_claim delivery_claimed_at origin_session_id`,
	}
	live, err := readSchema(context.Background(), open(t, storePath(t), testOptions(t)).readers, parseTables(schemaSQL))
	if err != nil {
		t.Fatal(err)
	}
	for table, columns := range want {
		for _, c := range strings.Fields(columns) {
			if !slices.Contains(live.columns[table], c) {
				t.Errorf("%s lacks %s", table, c)
			}
		}
	}
	if live.version != 30 {
		t.Errorf("version %d, want 30", live.version)
	}
}

// legacy is a store as an early version left it: few columns, NULL counters, unknown extras, a virtual table.
var legacy = []string{
	"PRAGMA journal_mode = WAL",
	"CREATE TABLE schema_version (version INTEGER NOT NULL)",
	"INSERT INTO schema_version VALUES (11)",
	`CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, system_prompt TEXT, started_at REAL NOT NULL,
		message_count INTEGER DEFAULT 0, future_column TEXT)`,
	`CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
		content TEXT, timestamp REAL NOT NULL)`,
	"CREATE TABLE future_table (x)",
	"CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id)",
	`CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
		INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END`,
	"INSERT INTO sessions VALUES ('old', 'cli', 'old prompt', 1000.5, NULL, 'kept')",
	"INSERT INTO messages (session_id, role, content, timestamp) VALUES ('old', 'user', 'from before', 1000.5)",
}

func TestLegacyFileGainsColumns(t *testing.T) {
	ctx := context.Background()
	path := storePath(t)
	script(t, path, legacy...)
	if _, err := Open(ctx, path, Options{ReadOnly: true}); !errors.Is(err, ErrSchema) {
		t.Errorf("reading an older schema: %v, want ErrSchema", err)
	}
	s := open(t, path, testOptions(t))
	session, ok, err := s.Session(ctx, "old")
	if err != nil || !ok || session.SystemPrompt != "old prompt" || session.LastActivityAt != fromEpoch(1000.5) {
		t.Errorf("legacy session %+v, %v, %v", session, ok, err)
	}
	say(t, s, "old", "from now")
	messages, err := s.Messages(ctx, "old")
	if err != nil || len(messages) != 2 || messages[0].Content != "from before" {
		t.Errorf("messages %v, %v", messages, err)
	}
	if err := s.AddUsage(ctx, "old", Usage{Model: "m", InputTokens: 3}); err != nil {
		t.Fatal(err)
	}
	if session, _, err = s.Session(ctx, "old"); err != nil || session.MessageCount != 1 || session.Usage.InputTokens != 3 {
		t.Errorf("counters after NULL: %+v, %v", session, err)
	}
	var extra string
	if err = s.readers.QueryRow(`SELECT future_column FROM sessions`).Scan(&extra); err != nil || extra != "kept" {
		t.Errorf("what others added: %q, %v", extra, err)
	}
	s.stopIndexing()
	indexAll(t, s) // the index of another layout was replaced
	if got := found(t, s, SearchOptions{Query: "from"}); len(got) != 2 {
		t.Errorf("found %q, want both messages", got)
	}
	if got := mustStats(t, s); got.SchemaVersion != SchemaVersion {
		t.Errorf("version %d", got.SchemaVersion)
	}
}

// TestSecondOpenWritesNothing: a store that is up to date is opened without a write transaction.
func TestSecondOpenWritesNothing(t *testing.T) {
	path := storePath(t)
	if err := open(t, path, testOptions(t)).Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, testOptions(t))
	if s.writes != 0 || mustStats(t, s).WALBytes != 0 {
		t.Errorf("%d writes, log of %d bytes", s.writes, mustStats(t, s).WALBytes)
	}
}

func TestUnusableSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		script []string
		says   string
	}{
		"newer version": {[]string{
			"CREATE TABLE schema_version (version INTEGER NOT NULL)", "INSERT INTO schema_version VALUES (31)",
		}, "schema version 31 is newer than 30"},
		"another program": {[]string{"CREATE TABLE bookmarks (url TEXT)"}, "another program"},
		"not addable":     {[]string{"CREATE TABLE messages (id INTEGER PRIMARY KEY)"}, "table messages lacks column session_id"},
		"same titles": {[]string{
			"CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, title TEXT)",
			"INSERT INTO sessions VALUES ('a', 'cli', 1, 't'), ('b', 'cli', 2, 't')",
		}, "UNIQUE"},
	} {
		t.Run(name, func(t *testing.T) {
			path := storePath(t)
			script(t, path, c.script...)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(context.Background(), path, testOptions(t))
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if c.says != "UNIQUE" && !errors.Is(err, ErrSchema) {
				t.Errorf("got %v, want ErrSchema", err)
			}
			tables := func(text []byte) int { return strings.Count(string(text), "CREATE TABLE") }
			after, err := os.ReadFile(path)
			if err != nil || tables(after) != tables(before) {
				t.Errorf("the file gained tables: %v", err)
			}
		})
	}
}

func TestPlanSchema(t *testing.T) {
	tables := []table{{name: "t", create: "CREATE t", columns: []column{
		{"id", "id TEXT PRIMARY KEY"}, {"n", "n INTEGER NOT NULL DEFAULT 0"}, {"c", "c TEXT"}, {"need", "need TEXT NOT NULL"},
	}}}
	indexes := []index{{name: "i", create: "CREATE i"}}
	stamp := []string{"DELETE FROM schema_version", "INSERT INTO schema_version (version) VALUES (30)"}
	all := []string{"id", "n", "C", "need", "extra"}
	cases := []struct {
		name string
		live liveSchema
		want []string
		bad  string
	}{
		{"new", liveSchema{}, append([]string{"CREATE t", "CREATE i"}, stamp...), ""},
		{"current", liveSchema{version: 30, columns: map[string][]string{"t": all}, indexes: []string{"i", "x"}, others: 1}, nil, ""},
		{"column missing", liveSchema{version: 30, columns: map[string][]string{"t": {"id", "need"}}, indexes: []string{"i"}},
			[]string{"ALTER TABLE t ADD COLUMN n INTEGER NOT NULL DEFAULT 0", "ALTER TABLE t ADD COLUMN c TEXT"}, ""},
		{"index last", liveSchema{version: 29, columns: map[string][]string{"t": {"id", "n", "need"}}},
			append([]string{"ALTER TABLE t ADD COLUMN c TEXT", "CREATE i"}, stamp...), ""},
		{"required column missing", liveSchema{columns: map[string][]string{"t": {"id"}}}, nil, "lacks column need"},
		{"key missing", liveSchema{columns: map[string][]string{"t": {"need"}}}, nil, "lacks column id"},
		{"newer", liveSchema{version: 31, columns: map[string][]string{"t": all}}, nil, "newer"},
		{"foreign", liveSchema{others: 2}, nil, "another program"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := planSchema(tables, indexes, c.live)
			if (err != nil) != (c.bad != "") || err != nil && !strings.Contains(err.Error(), c.bad) {
				t.Fatalf("error %v, want %q", err, c.bad)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("plan %q, want %q", got, c.want)
			}
		})
	}
}
