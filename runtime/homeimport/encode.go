package homeimport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// List returns the objects in the order in which they are applied: Secrets before what refers to them.
func (o Objects) List() []any {
	var out []any
	for _, s := range o.Secrets {
		out = append(out, s)
	}
	out = append(out, o.Profile)
	for _, s := range o.Schedules {
		out = append(out, s)
	}
	return out
}

// Manifest writes the objects as YAML documents, with the notes as comments above them.
func (o Objects) Manifest() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Made by hermes profile import. Read it before you apply it.\n")
	for _, n := range o.Notes {
		b.WriteString("# - " + OneLine(n) + "\n")
	}
	for _, object := range o.List() {
		text, err := document(object)
		if err != nil {
			return nil, fmt.Errorf("write the manifest: %w", err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}

// OneLine makes a note, which may hold names from the old home, one line that neither a terminal nor a YAML reader takes
// for anything else: what cannot be seen becomes the replacement character.
func OneLine(note string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, strings.Join(strings.Fields(note), " "))
}

// document is an object without what only a server fills in.
func document(object any) ([]byte, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	delete(fields, "status")
	if meta, ok := fields["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return yaml.Marshal(fields)
}
