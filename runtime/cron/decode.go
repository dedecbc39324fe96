package cron

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// jobFields are the names of the fields this version knows.
var jobFields = fieldNames(reflect.TypeFor[Job]())

func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" {
			names[name] = true
		}
	}
	return names
}

// rawFile is a job file cut into records.
type rawFile struct {
	records  []json.RawMessage
	keys     []string // the key of a record that came from an id-keyed object, else ""
	repaired bool     // the file was not in the form we write
	notes    []string // what was wrong with it, for the log
}

// splitFile cuts a job file into records. It accepts a byte order mark, control characters inside strings, a bare list
// and an object keyed by id.
//
// Implements C-102.
func splitFile(content []byte) (rawFile, error) {
	var f rawFile
	if trimmed, had := bytes.CutPrefix(content, []byte("\xef\xbb\xbf")); had {
		content, f.repaired = trimmed, true
	}
	var top json.RawMessage
	if err := json.Unmarshal(content, &top); err != nil {
		escaped := escapeControls(content)
		if bytes.Equal(escaped, content) || json.Unmarshal(escaped, &top) != nil {
			return f, fmt.Errorf("not JSON: %w: correct the file or restore it from a copy", err)
		}
		f.repaired = true
		f.notes = append(f.notes, "control characters inside strings were escaped")
	}
	switch top = bytes.TrimSpace(top); top[0] {
	case '[':
		f.repaired = true
		return f, json.Unmarshal(top, &f.records)
	case '{':
		var object map[string]json.RawMessage
		if err := json.Unmarshal(top, &object); err != nil {
			return f, err
		}
		jobs, keyed := object["jobs"]
		switch jobs = bytes.TrimSpace(jobs); {
		case !keyed:
			return f, f.flatten(object)
		case jobs[0] == '[':
			return f, json.Unmarshal(jobs, &f.records)
		case jobs[0] == '{':
			var byID map[string]json.RawMessage
			if err := json.Unmarshal(jobs, &byID); err != nil {
				return f, err
			}
			return f, f.flatten(byID)
		}
	}
	return f, fmt.Errorf(`the top level is neither {"jobs": […]} nor a list of jobs: correct the file or restore it from a copy`)
}

func (f *rawFile) flatten(byID map[string]json.RawMessage) error {
	f.repaired = true
	for _, key := range slices.Sorted(maps.Keys(byID)) {
		record := bytes.TrimSpace(byID[key])
		if record[0] != '{' {
			f.notes = append(f.notes, fmt.Sprintf("%q is not a job and was left out", key))
			continue
		}
		f.records, f.keys = append(f.records, record), append(f.keys, key)
	}
	if len(f.records) == 0 && len(byID) > 0 {
		return fmt.Errorf("the top level is an object without jobs: correct the file or restore it from a copy")
	}
	return nil
}

// escapeControls escapes control characters inside JSON strings.
func escapeControls(content []byte) []byte {
	out := make([]byte, 0, len(content))
	inString, escaped := false, false
	for _, c := range content {
		if inString && c < 0x20 {
			out = fmt.Appendf(out, `\u%04x`, c)
			escaped = false
			continue
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		}
		out = append(out, c)
	}
	return out
}

// safeID is a single path component that cannot climb.
var safeID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// decodeJob reads one record. A field that cannot be read is left out and named in notes; a record that is no job at all
// is an error. key is the record's key in an id-keyed object; an id inside the record wins.
//
// Implements the repair of C-102 and C-137.
func decodeJob(raw json.RawMessage, key string) (Job, []string, error) {
	var job Job
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&job); err == nil && safeID.MatchString(job.ID) && job.State != "" {
		return job, nil, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return Job{}, nil, fmt.Errorf("a record is not an object")
	}
	job = Job{Enabled: true}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !jobFields[name] {
			if job.extra == nil {
				job.extra = map[string]json.RawMessage{}
			}
			job.extra[name] = fields[name]
			continue
		}
		tried := job
		single := slices.Concat([]byte(`{"`+name+`":`), fields[name], []byte("}"))
		if err := json.Unmarshal(single, &tried); err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		job = tried
	}
	if job.ID == "" {
		job.ID = key
		if key == "" {
			job.ID = newJobID()
		}
		notes = append(notes, "id was missing")
	}
	if !safeID.MatchString(job.ID) {
		return Job{}, nil, fmt.Errorf("id %q is not a plain name of letters, digits, dot, dash and underscore", job.ID)
	}
	if job.State == "" {
		job.State = StateScheduled
		if !job.Enabled {
			job.State = StatePaused
		}
		notes = append(notes, "state was missing")
	}
	if job.Skill == "" && len(job.Skills) > 0 {
		job.Skill = job.Skills[0]
	}
	return job, notes, nil
}
