package store

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// acceptRow turns the values of a foreign row into ones of the declared types. SQLite lets any column hold anything, and
// the readers of this package expect what the schema says. A value that cannot be made to fit becomes NULL and is told in
// repaired; in a column that must have one the row is refused.
func acceptRow(columns []column, raw []any) (row importRow, repaired string, err error) {
	row.values = make(map[string]any, len(columns))
	for i, c := range columns {
		value, changed, ok := acceptValue(kindOf(c), raw[i])
		required := strings.Contains(c.decl, "NOT NULL") || strings.Contains(c.decl, "PRIMARY KEY")
		if value == nil && required {
			if fallback, has := defaultOf(c); has {
				value, changed = fallback, raw[i] != nil || changed
			} else {
				return row, "", fmt.Errorf("%s is %s", c.name, describe(raw[i]))
			}
		}
		if required && value == "" && (c.name == "role" || c.name == "source") {
			return row, "", fmt.Errorf("%s is empty", c.name)
		}
		if (changed || !ok) && repaired == "" {
			repaired = fmt.Sprintf("%s was %s", c.name, describe(raw[i]))
		}
		row.values[c.name] = value
	}
	return row, repaired, nil
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case string:
		if !utf8.ValidString(v) {
			return "not UTF-8 text"
		}
		return fmt.Sprintf("the text %.40q", v)
	case []byte:
		return "binary data"
	default:
		return fmt.Sprintf("%v", v)
	}
}

// kindOf is the declared type of a column.
func kindOf(c column) string {
	_, rest, _ := strings.Cut(c.decl, " ")
	kind, _, _ := strings.Cut(rest, " ")
	return kind
}

// defaultOf is the declared default of a column that must have a value.
func defaultOf(c column) (any, bool) {
	_, text, ok := strings.Cut(c.decl, " DEFAULT ")
	if !ok {
		return nil, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	return strings.Trim(text, "'"), true
}

// acceptValue makes a value one of a kind. changed says that it is not what it was; ok is false when it could not be read
// and is nil now.
func acceptValue(kind string, v any) (value any, changed, ok bool) {
	if v == nil {
		return nil, false, true
	}
	switch kind {
	case "TEXT":
		return acceptText(v)
	case "INTEGER":
		return acceptInteger(v)
	case "REAL":
		return acceptReal(v)
	case "BLOB":
		if text, is := v.(string); is {
			return []byte(text), true, true
		}
		_, is := v.([]byte)
		return v, false, is
	}
	return v, false, true
}

func acceptText(v any) (any, bool, bool) {
	switch v := v.(type) {
	case string:
		if utf8.ValidString(v) {
			return v, false, true
		}
		return strings.ToValidUTF8(v, "\uFFFD"), true, true
	case []byte:
		return strings.ToValidUTF8(string(v), "\uFFFD"), true, true
	case int64, float64, bool:
		return fmt.Sprint(v), true, true
	}
	return nil, true, false
}

func acceptInteger(v any) (any, bool, bool) {
	switch v := v.(type) {
	case int64:
		return v, false, true
	case bool:
		return flag(v), false, true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true, true
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, true, true
		}
	}
	return nil, true, false
}

func acceptReal(v any) (any, bool, bool) {
	switch v := v.(type) {
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, false, true
		}
	case int64:
		return float64(v), false, true
	case time.Time:
		return epoch(v), true, true
	case string:
		text := strings.TrimSpace(v)
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, true, true
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999"} {
			if t, err := time.Parse(layout, text); err == nil {
				return epoch(t), true, true
			}
		}
	}
	return nil, true, false
}
