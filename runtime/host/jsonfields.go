package host

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// jsonFields is one JSON object whose members are decoded one by one, so that a member of an unexpected type costs that
// member and not the whole record, and so that keys match exactly.
type jsonFields map[string]json.RawMessage

// parseObject reads one JSON object in UTF-8, tolerating a byte order mark. ok is false for anything else.
func parseObject(data []byte) (jsonFields, bool) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(data) {
		return nil, false
	}
	var fields jsonFields
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, false
	}
	return fields, true
}

// text returns a string member, or "" when it is missing or not a string.
func (f jsonFields) text(key string) string {
	var s string
	if json.Unmarshal(f[key], &s) != nil {
		return ""
	}
	return s
}

// integer returns an integer member. ok is false when it is missing, null, not written as an integer (12.0, "12" and
// true are not) or out of range.
//
func (f jsonFields) integer(key string) (int64, bool) {
	n, err := strconv.ParseInt(string(f[key]), 10, 64)
	return n, err == nil
}

// number returns a finite number member.
func (f jsonFields) number(key string) (float64, bool) {
	if f.absent(key) {
		return 0, false
	}
	var n float64
	if json.Unmarshal(f[key], &n) != nil {
		return 0, false
	}
	return n, true
}

// absent reports a member that is missing or null.
func (f jsonFields) absent(key string) bool {
	raw, ok := f[key]
	return !ok || string(raw) == "null"
}

// texts returns the strings of a list member, dropping elements of other types.
func (f jsonFields) texts(key string) []string {
	var elements []json.RawMessage
	if json.Unmarshal(f[key], &elements) != nil {
		return nil
	}
	var out []string
	for _, raw := range elements {
		var s string
		if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
			out = append(out, s)
		}
	}
	return out
}
