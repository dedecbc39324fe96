package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// importSource reads another store, by the columns both have.
type importSource struct {
	pool    *sql.DB
	profile string
	// tables maps a table that is taken over to the columns both sides have.
	tables map[string][]column
	report ImportReport
}

// importRow is one row as it can be stored.
type importRow struct {
	columns []string
	values  map[string]any
}

// open looks at the schema and at the soundness of the tables that are read.
func (src *importSource) open(ctx context.Context, path string) error {
	wanted := parseTables(schemaSQL)
	live, err := readSchema(ctx, src.pool, wanted)
	if err != nil {
		return importError(path, err)
	}
	if live.version > SchemaVersion {
		return &SchemaError{Path: path, Version: live.version, Reason: fmt.Sprintf("schema version %d is newer than %d, the newest this program knows: use a newer hermes", live.version, SchemaVersion)}
	}
	if live.columns["sessions"] == nil || live.columns["messages"] == nil {
		return &SchemaError{Path: path, Version: live.version, Reason: "holds no sessions: it is not a session store"}
	}
	src.tables = map[string][]column{}
	src.report.SchemaVersion = live.version
	for _, t := range wanted {
		have := live.columns[t.name]
		if have == nil || !slices.Contains(importTables, t.name) {
			continue
		}
		if err := checkTable(ctx, src.pool, t.name); err != nil {
			return importError(path, err)
		}
		src.tables[t.name] = common(t, have)
		for _, name := range have {
			if !slices.ContainsFunc(t.columns, func(c column) bool { return strings.EqualFold(c.name, name) }) {
				src.report.Unknown = append(src.report.Unknown, t.name+"."+name)
			}
		}
	}
	return nil
}

func importError(path string, err error) error {
	if structuralDamage(err) {
		err = fmt.Errorf("%w (%w)", ErrCorrupt, err)
	}
	return fmt.Errorf("import from %s: %w", path, err)
}

// checkTable is ErrCorrupt when SQLite finds a table or its indexes damaged. The other tables are not looked at: an index
// with a tokenizer that only its own program has cannot be checked here, and is not needed.
func checkTable(ctx context.Context, pool *sql.DB, table string) error {
	rows, err := pool.QueryContext(ctx, "PRAGMA integrity_check("+table+")")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err
		}
		// A NULL in a NOT NULL column is a malformed row, which is skipped by itself.
		if line != "ok" && !strings.HasPrefix(line, "NULL value in ") && !strings.HasPrefix(line, "non-unique entry") {
			return fmt.Errorf("%w: table %s: %s", ErrCorrupt, table, line)
		}
	}
	return rows.Err()
}

func common(t table, have []string) []column {
	var out []column
	for _, c := range t.columns {
		if slices.ContainsFunc(have, func(name string) bool { return strings.EqualFold(c.name, name) }) {
			out = append(out, c)
		}
	}
	return out
}

// plan lists the sessions to take over, parents first, and reports what cannot be.
func (src *importSource) plan(ctx context.Context, report *ImportReport) ([]importItem, error) {
	parent := "NULL"
	if src.has("sessions", "parent_session_id") {
		parent = "parent_session_id"
	}
	rows, err := src.pool.QueryContext(ctx, "SELECT id, "+parent+" FROM sessions ORDER BY rowid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var items []importItem
	for rows.Next() {
		var id, parent any
		if err := rows.Scan(&id, &parent); err != nil {
			return nil, err
		}
		name, ok := id.(string)
		if !ok || name == "" || strings.ToValidUTF8(name, "") != name {
			report.Skipped++
			report.note("a session whose id is %.40q was skipped", fmt.Sprint(id))
			continue
		}
		above, _ := parent.(string)
		items = append(items, importItem{id: name, parent: above})
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	ordered, broken := orderParentsFirst(items)
	for _, id := range broken {
		report.Repaired++
		report.note("session %s names a parent that is missing or its own descendant: it was taken without", id)
	}
	var orphans int64
	err = src.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM messages WHERE session_id IS NULL OR session_id NOT IN (SELECT id FROM sessions WHERE id IS NOT NULL)").Scan(&orphans)
	if orphans > 0 {
		report.Skipped += orphans
		report.note("%d messages of sessions that are not there were skipped", orphans)
	}
	return ordered, err
}

func (src *importSource) has(table, name string) bool {
	return slices.ContainsFunc(src.tables[table], func(c column) bool { return c.name == name })
}

func (src *importSource) messages(ctx context.Context, id string) (n int64, err error) {
	err = src.pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM messages WHERE session_id = ?", id).Scan(&n)
	return n, err
}

// count is copySession for a store that is not there: every row is read and judged, none is stored.
func (src *importSource) count(ctx context.Context, item importItem) (ImportReport, error) {
	var r ImportReport
	found := false
	err := src.each(ctx, "sessions", "id = ?", []any{item.id}, &r, func(importRow) error { found = true; return nil })
	if err != nil || !found {
		return r, err
	}
	r.Sessions++
	if err := src.each(ctx, "messages", "session_id = ?", []any{item.id}, &r, func(importRow) error { r.Messages++; return nil }); err != nil {
		return r, err
	}
	return r, src.each(ctx, "session_model_usage", "session_id = ?", []any{item.id}, &r, func(importRow) error { r.Usage++; return nil })
}

// copySession adds one session in a transaction. Messages get ids of this store, in their order.
func (src *importSource) copySession(ctx context.Context, tx *sql.Tx, item importItem, r *ImportReport) error {
	found := false
	err := src.each(ctx, "sessions", "id = ?", []any{item.id}, r, func(row importRow) error {
		found = true
		return src.copySessionRow(ctx, tx, item, row, r)
	})
	if err != nil || !found {
		return err
	}
	r.Sessions++
	var compiled *sql.Stmt // there may be many; the transaction closes it
	err = src.each(ctx, "messages", "session_id = ?", []any{item.id}, r, func(row importRow) (err error) {
		if compiled == nil {
			if compiled, err = tx.PrepareContext(ctx, insertText("messages", row)); err != nil {
				return err
			}
		}
		r.Messages++
		_, err = compiled.ExecContext(ctx, row.args()...)
		return err
	})
	if err != nil {
		return err
	}
	return src.each(ctx, "session_model_usage", "session_id = ?", []any{item.id}, r, func(row importRow) error {
		r.Usage++
		return insert(ctx, tx, "session_model_usage", row)
	})
}

// copySessionRow makes what a session refers to true in this store before it is added.
func (src *importSource) copySessionRow(ctx context.Context, tx *sql.Tx, item importItem, row importRow, r *ImportReport) error {
	row.set("parent_session_id", textOrNil(item.parent))
	if hash, ok := row.values["system_prompt_hash"].(string); ok {
		found := false
		if src.tables["system_prompts"] != nil {
			err := src.each(ctx, "system_prompts", "hash = ?", []any{hash}, r, func(prompt importRow) error {
				found = true
				_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO system_prompts (hash, prompt) VALUES (?, ?)", hash, prompt.values["prompt"])
				return err
			})
			if err != nil {
				return err
			}
		}
		if !found {
			row.set("system_prompt_hash", nil)
			r.Repaired++
			r.note("session %s names a system prompt that is missing: it was taken without", item.id)
		}
	}
	if title, ok := row.values["title"].(string); ok {
		free, err := importedTitle(ctx, tx, title)
		if err != nil {
			return err
		}
		if free != title {
			row.set("title", free)
			r.Repaired++
			r.note("session %s is called %q, because %q is taken", item.id, free, title)
		}
	}
	if key, ok := row.values["session_key"].(string); ok {
		row.set("session_key", rekey(key, src.profile))
	}
	if src.profile != "" && src.has("sessions", "profile_name") {
		row.set("profile_name", src.profile)
	}
	return insert(ctx, tx, "sessions", row)
}

// importedTitle is title, or the first variant of it that no session here has.
func importedTitle(ctx context.Context, tx *sql.Tx, title string) (string, error) {
	for n := 1; ; n++ {
		candidate := title
		if n > 1 {
			candidate = fmt.Sprintf("%s (imported %d)", title, n)
		}
		var taken int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM sessions WHERE title = ?", candidate).Scan(&taken); err != nil {
			return "", err
		}
		if taken == 0 {
			return candidate, nil
		}
	}
}

func insert(ctx context.Context, tx *sql.Tx, table string, row importRow) error {
	_, err := tx.ExecContext(ctx, insertText(table, row), row.args()...)
	return err
}

func insertText(table string, row importRow) string {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(row.columns)), ", ")
	return "INSERT INTO " + table + " (" + strings.Join(row.columns, ", ") + ") VALUES (" + marks + ")"
}

func (row importRow) args() []any {
	args := make([]any, len(row.columns))
	for i, name := range row.columns {
		args[i] = row.values[name]
	}
	return args
}

func (row *importRow) set(name string, value any) {
	if slices.Contains(row.columns, name) {
		row.values[name] = value
	}
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// each reads the rows of a table that can be stored, in their order, and hands them on; the others are reported and
// skipped.
func (src *importSource) each(ctx context.Context, table, where string, args []any, r *ImportReport, do func(importRow) error) error {
	columns := src.tables[table]
	if columns == nil {
		return nil
	}
	if table == "messages" { // ids are this store's own
		columns = slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.name == "id" })
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	rows, err := src.pool.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+table+" WHERE "+where+" ORDER BY rowid", args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	raw, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range raw {
		into[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row, repaired, err := acceptRow(columns, raw)
		if err != nil {
			r.Skipped++
			r.note("a row of %s (%v) was skipped: %v", table, firstArg(args), err)
			continue
		}
		if repaired != "" {
			r.Repaired++
			r.note("a row of %s (%v) was repaired: %s", table, firstArg(args), repaired)
		}
		row.columns = names
		if err := do(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func firstArg(args []any) any {
	if len(args) == 0 {
		return "whole table"
	}
	return args[0]
}
