package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// IndexLayout is the layout of the full-text index, recorded in state_meta apart from the schema version: the index
// can be made anew from messages at any time.
const IndexLayout = "3"

// Keys of state_meta. Rows are indexed from metaFTSFloor, which exists only while an index is being built and rows
// below it are missing, through metaFTSThrough; newer rows wait.
const (
	metaFTSVersion = "fts_storage_version"
	metaFTSFloor   = "fts_rebuild_floor"
	metaFTSThrough = "fts_indexed_through"
)

// The virtual tables. messages_fts holds words, messages_fts_trigram every three characters in a row. The latter
// keeps no positions (detail=none), which makes it a third of the size; a search proves its candidates itself.
const (
	ftsWords    = "messages_fts"
	ftsTrigrams = "messages_fts_trigram"
)

// object is one table, view or trigger of the index.
type object struct{ kind, name, create string }

// ftsLayout is what the index consists of, in the order of making. Both tables take their text from the view, so
// that a row leaves the index with exactly the text it entered with: only the first 8192 characters of a tool's
// result count. Scheduled runs, delegated children and the JSON of tool calls stay out of the trigrams: there is
// much of them and nobody looks for a part of a word in them.
//
// Triggers keep the index true when rows change or go. There is none for new rows: indexing a kilobyte of text costs
// several times what storing it does, and a turn must not wait for that; fillIndex puts rows in soon after.
// A row is taken out only when it is in, which the index's own docsize table knows.
//
// Implements the full-text part of section 2.1.
func ftsLayout() []object {
	triggers := func(table, columns string, cells func(row string) string) []object {
		in := " ON messages WHEN EXISTS (SELECT 1 FROM " + table + "_docsize WHERE id = old.id) BEGIN "
		remove := "INSERT INTO " + table + "(" + table + ", rowid, " + columns + ") VALUES ('delete', old.id, " + cells("old") + "); "
		add := "INSERT INTO " + table + "(rowid, " + columns + ") VALUES (new.id, " + cells("new") + "); "
		return []object{
			{"trigger", table + "_delete", "CREATE TRIGGER " + table + "_delete AFTER DELETE" + in + remove + "END"},
			{"trigger", table + "_update", "CREATE TRIGGER " + table + "_update AFTER UPDATE OF role, content, tool_name, tool_calls" + in + remove + add + "END"},
		}
	}
	layout := []object{
		{"view", "messages_fts_source", "CREATE VIEW messages_fts_source AS SELECT m.id, m.session_id, " + searchedText("m") +
			" AS content, m.tool_name, m.tool_calls FROM messages m"},
		{"table", ftsWords, "CREATE VIRTUAL TABLE " + ftsWords + " USING fts5(content, tool_name, tool_calls, " +
			"content='messages_fts_source', content_rowid='id', tokenize='unicode61 remove_diacritics 2')"},
		{"table", ftsTrigrams, "CREATE VIRTUAL TABLE " + ftsTrigrams + " USING fts5(content, tool_name, " +
			"content='messages_fts_source', content_rowid='id', tokenize='trigram', detail=none)"},
	}
	layout = append(layout, triggers(ftsWords, "content, tool_name, tool_calls", func(row string) string {
		return searchedText(row) + ", " + row + ".tool_name, " + row + ".tool_calls"
	})...)
	return append(layout, triggers(ftsTrigrams, "content, tool_name", func(row string) string {
		return searchedText(row) + ", " + row + ".tool_name"
	})...)
}

// searchedText is what a search sees of the content of a row of messages: the results of tools can be long and are
// seldom what somebody said.
func searchedText(row string) string {
	return "CASE WHEN " + row + ".role = 'tool' THEN substr(" + row + ".content, 1, 8192) ELSE " + row + ".content END"
}

// inTrigrams decides over a row s of sessions. A marker makes a child of a session only when it names this row's own
// parent (rule S-103); a model_config that is no JSON has none.
const inTrigrams = `s.source <> 'cron' AND NOT COALESCE(CASE WHEN json_valid(s.model_config)
	THEN json_extract(s.model_config, '$._delegate_from') = s.parent_session_id END, 0)`

// ftsState is what a file has of the index.
type ftsState struct {
	version string
	span    ftsSpan
	objects []object
}

// ftsSpan is which rows are indexed: those with ids from floor, when it is set, through.
type ftsSpan struct {
	floor   sql.NullInt64
	through int64
}

// current is true when the index is of this layout, statement by statement: another program may have written the
// same version over tables of its own.
func (f ftsState) current() bool {
	if f.version != IndexLayout {
		return false
	}
	want := ftsLayout()
	if len(want) != len(f.objects) {
		return false
	}
	return !slices.ContainsFunc(want, func(o object) bool { return !slices.Contains(f.objects, o) })
}

// readFTS reads the state of the index without touching the index itself.
func readFTS(ctx context.Context, q querier) (ftsState, error) {
	var state ftsState
	var err error
	if err = readMeta(ctx, q, metaFTSVersion, &state.version); err != nil {
		return state, err
	}
	if state.span, err = readSpan(ctx, q); err != nil {
		return state, err
	}
	rows, err := q.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_master
		WHERE (type = 'table' AND name GLOB 'messages_fts*' AND sql LIKE 'CREATE VIRTUAL TABLE%')
		   OR (type = 'view' AND name GLOB 'messages_fts*')
		   OR (type = 'trigger' AND tbl_name = 'messages' AND instr(sql, 'messages_fts') > 0)`)
	if err != nil {
		return state, err
	}
	defer rows.Close()
	for rows.Next() {
		var o object
		if err := rows.Scan(&o.kind, &o.name, &o.create); err != nil {
			return state, err
		}
		state.objects = append(state.objects, o)
	}
	return state, rows.Err()
}

func readSpan(ctx context.Context, q querier) (span ftsSpan, err error) {
	if err = readMeta(ctx, q, metaFTSFloor, &span.floor); err == nil {
		err = readMeta(ctx, q, metaFTSThrough, &span.through)
	}
	return span, err
}

// readMeta leaves into as it is when there is no value.
func readMeta(ctx context.Context, q querier, key string, into any) error {
	err := q.QueryRowContext(ctx, "SELECT value FROM state_meta WHERE key = ? AND value IS NOT NULL", key).Scan(into)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func writeMeta(ctx context.Context, c ftsConn, key, value string) error {
	_, err := c.ExecContext(ctx, "INSERT OR REPLACE INTO state_meta (key, value) VALUES (?, ?)", key, value)
	return err
}

// ftsConn is the part of sql.Tx that changing the layout needs.
type ftsConn interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// dropFTSTriggers takes the index out of the way of writes. It never touches the index's tables, so it works
// whatever state they are in.
func dropFTSTriggers(ctx context.Context, c ftsConn) error {
	state, err := readFTS(ctx, c)
	if err != nil {
		return err
	}
	for _, o := range state.objects {
		if o.kind != "trigger" {
			continue
		}
		if _, err := c.ExecContext(ctx, "DROP TRIGGER "+quoteName(o.name)); err != nil {
			return err
		}
	}
	return deleteMeta(ctx, c, metaFTSVersion)
}

// recreateFTS replaces whatever index there is with an empty one of this layout, and marks it as one that has to be
// filled unless there is nothing to fill it with.
func recreateFTS(ctx context.Context, c ftsConn) error {
	if err := dropFTSTriggers(ctx, c); err != nil {
		return err
	}
	state, err := readFTS(ctx, c)
	if err != nil {
		return err
	}
	for _, kind := range []string{"table", "view"} { // the tables read the view
		for _, o := range state.objects {
			if o.kind != kind {
				continue
			}
			if err := dropObject(ctx, c, o); err != nil {
				return err
			}
		}
	}
	for _, o := range ftsLayout() {
		if _, err := c.ExecContext(ctx, o.create); err != nil {
			return fmt.Errorf("make %s: %w", o.name, err)
		}
	}
	return markFTS(ctx, c)
}

// markFTS records an empty index over the rows there are now.
func markFTS(ctx context.Context, c ftsConn) error {
	var newest int64
	if err := c.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) FROM messages").Scan(&newest); err != nil {
		return err
	}
	err := errors.Join(writeMeta(ctx, c, metaFTSVersion, IndexLayout), writeMeta(ctx, c, metaFTSThrough, strconv.FormatInt(newest, 10)))
	if newest == 0 || err != nil {
		return errors.Join(err, deleteMeta(ctx, c, metaFTSFloor))
	}
	return writeMeta(ctx, c, metaFTSFloor, strconv.FormatInt(newest+1, 10))
}

func deleteMeta(ctx context.Context, c ftsConn, key string) error {
	_, err := c.ExecContext(ctx, "DELETE FROM state_meta WHERE key = ?", key)
	return err
}

// dropObject drops a table or view of the index. SQLite cannot drop a virtual table that it cannot construct, for
// want of its tokenizer or of its own records; such a one is taken out of the schema by hand.
func dropObject(ctx context.Context, c ftsConn, o object) error {
	_, err := c.ExecContext(ctx, "DROP "+strings.ToUpper(o.kind)+" "+quoteName(o.name))
	if err == nil || o.kind != "table" {
		return err
	}
	if code, _ := resultCode(err); code&0xff == codeBusy || code&0xff == codeLocked {
		return err
	}
	for _, statement := range []string{
		"PRAGMA writable_schema = ON",
		"DELETE FROM sqlite_master WHERE type = 'table' AND name = '" + strings.ReplaceAll(o.name, "'", "''") + "'",
		"PRAGMA writable_schema = RESET",
	} {
		if _, again := c.ExecContext(ctx, statement); again != nil {
			return fmt.Errorf("%w (after %w)", again, err)
		}
	}
	for _, shadow := range []string{"_data", "_idx", "_content", "_docsize", "_config"} {
		if _, err := c.ExecContext(ctx, "DROP TABLE IF EXISTS "+quoteName(o.name+shadow)); err != nil {
			return err
		}
	}
	return nil
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
