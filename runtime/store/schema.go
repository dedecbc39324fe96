package store

import (
	"context"
	"database/sql"
	_ "embed" // the schema is data: sqlc, new stores and older stores read the same text
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// SchemaVersion is the version this code writes and the newest it opens.
const SchemaVersion = 30

var (
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/indexes.sql
	indexesSQL string
)

// table is one wanted table.
type table struct {
	name    string
	create  string
	columns []column
}

// column is one wanted column; decl is its whole declaration, name included.
type column struct{ name, decl string }

// index is one wanted index.
type index struct{ name, create string }

var (
	createTable = regexp.MustCompile(`^CREATE TABLE IF NOT EXISTS (\w+)`)
	createIndex = regexp.MustCompile(`INDEX IF NOT EXISTS (\w+)`)
)

// parseTables reads the wanted tables from schema text that keeps to the layout its header describes.
func parseTables(text string) []table {
	var tables []table
	for _, statement := range statements(text) {
		match := createTable.FindStringSubmatch(statement)
		if match == nil {
			continue
		}
		t := table{name: match[1], create: statement}
		for line := range strings.Lines(statement) {
			decl := strings.TrimSuffix(strings.TrimSpace(line), ",")
			if !strings.HasPrefix(line, "    ") || strings.HasPrefix(decl, "PRIMARY KEY") {
				continue
			}
			name, _, _ := strings.Cut(decl, " ")
			t.columns = append(t.columns, column{name: name, decl: decl})
		}
		tables = append(tables, t)
	}
	return tables
}

func parseIndexes(text string) []index {
	var indexes []index
	for _, statement := range statements(text) {
		if match := createIndex.FindStringSubmatch(statement); match != nil {
			indexes = append(indexes, index{name: match[1], create: statement})
		}
	}
	return indexes
}

// statements splits schema text, which has no semicolon inside a statement, and drops whole-line comments.
func statements(text string) []string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			kept.WriteString(line)
		}
	}
	var out []string
	for statement := range strings.SplitSeq(kept.String(), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			out = append(out, statement)
		}
	}
	return out
}

// liveSchema is what a file has now.
type liveSchema struct {
	// version is 0 when the file records none.
	version int64
	// columns maps a table to its column names; only wanted tables are listed with their columns.
	columns map[string][]string
	indexes []string
	// others counts tables that this schema does not know.
	others int
}

// planSchema decides what turns a live file into the wanted schema: statements in order, none when it is there
// already. Extra tables and columns are left alone. The error is a *SchemaError without a path.
func planSchema(tables []table, indexes []index, live liveSchema) ([]string, error) {
	if live.version > SchemaVersion {
		return nil, &SchemaError{Version: live.version, Reason: fmt.Sprintf(
			"schema version %d is newer than %d, the newest this program knows: run the newer hermes that wrote it",
			live.version, SchemaVersion)}
	}
	if len(live.columns) == 0 && live.others > 0 {
		return nil, &SchemaError{Reason: "is the database of another program, not a session store: point the profile at another file"}
	}
	var plan []string
	for _, t := range tables {
		have, exists := live.columns[t.name]
		if !exists {
			plan = append(plan, t.create)
			continue
		}
		for _, c := range t.columns {
			if slices.ContainsFunc(have, func(name string) bool { return strings.EqualFold(name, c.name) }) {
				continue
			}
			if !addable(c) {
				return nil, &SchemaError{Version: live.version, Reason: fmt.Sprintf(
					"table %s lacks column %s, which cannot be added to an existing table: restore a backup of this file",
					t.name, c.name)}
			}
			plan = append(plan, "ALTER TABLE "+t.name+" ADD COLUMN "+c.decl)
		}
	}
	for _, i := range indexes {
		if !slices.Contains(live.indexes, i.name) {
			plan = append(plan, i.create)
		}
	}
	if live.version != SchemaVersion {
		plan = append(plan, "DELETE FROM schema_version",
			fmt.Sprintf("INSERT INTO schema_version (version) VALUES (%d)", SchemaVersion))
	}
	return plan, nil
}

// addable is true when SQLite's ALTER TABLE can add the column to a table that has rows.
func addable(c column) bool {
	if strings.Contains(c.decl, "PRIMARY KEY") || strings.Contains(c.decl, "UNIQUE") {
		return false
	}
	return !strings.Contains(c.decl, "NOT NULL") || strings.Contains(c.decl, "DEFAULT")
}

// querier is the part of sql.DB and sql.Conn that reading a schema needs.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readSchema reads the live schema. It looks into wanted tables only: a virtual table whose module or tokenizer this
// build lacks must not keep a file from opening.
func readSchema(ctx context.Context, q querier, tables []table) (liveSchema, error) {
	live := liveSchema{columns: map[string][]string{}}
	rows, err := q.QueryContext(ctx, `SELECT type, name FROM sqlite_master
		WHERE type IN ('table', 'index') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	if err != nil {
		return live, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name string
		if err := rows.Scan(&kind, &name); err != nil {
			return live, err
		}
		switch {
		case kind == "index":
			live.indexes = append(live.indexes, name)
		case slices.ContainsFunc(tables, func(t table) bool { return t.name == name }):
			live.columns[name] = nil
		default:
			live.others++
		}
	}
	if err := rows.Err(); err != nil {
		return live, err
	}
	for name := range live.columns {
		if live.columns[name], err = readColumns(ctx, q, name); err != nil {
			return live, err
		}
	}
	if _, ok := live.columns["schema_version"]; ok {
		err = q.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version").Scan(&live.version)
	}
	return live, err
}

func readColumns(ctx context.Context, q querier, table string) ([]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
