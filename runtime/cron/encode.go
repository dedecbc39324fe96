package cron

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// encodeJob returns the record as it stands in the file, indented, with what newer writers added.
func encodeJob(j Job) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(j); err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace(out.Bytes())
	if len(j.extra) > 0 {
		raw = raw[:len(raw)-1]
		for _, key := range slices.Sorted(maps.Keys(j.extra)) {
			name, err := json.Marshal(key)
			if err != nil {
				return nil, err
			}
			raw = append(append(append(append(raw, ','), name...), ':'), j.extra[key]...)
		}
		raw = append(raw, '}')
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "    ", "  "); err != nil {
		return nil, err
	}
	return indented.Bytes(), nil
}

// encodeFile joins encoded records to a job file (C-101).
func encodeFile(records [][]byte, now time.Time) []byte {
	size := 64
	for _, record := range records {
		size += len(record) + 6
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	out.WriteString("{\n  \"jobs\": [")
	for i, record := range records {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n    ")
		out.Write(record)
	}
	if len(records) > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("],\n  \"updated_at\": \"" + now.Format(isoLayout) + "\"\n}\n")
	return out.Bytes()
}
