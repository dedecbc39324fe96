package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// checkArguments judges the arguments of a call by the tool's schema and
// returns them as a JSON object; absent or null arguments are an empty object.
// The error says which argument is wrong and is meant for the model.
func checkArguments(e *entry, raw json.RawMessage) (json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		raw = json.RawMessage(`{}`)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("invalid arguments for %s: not valid JSON: %w", e.Name, err)
	}
	schema, err := e.compile()
	if err != nil {
		return nil, fmt.Errorf("tool %s has a schema that cannot be used: %w", e.Name, err)
	}
	if err := schema.Validate(v); err != nil {
		return nil, fmt.Errorf("invalid arguments for %s: %s", e.Name, schemaComplaint(err))
	}
	return raw, nil
}

// schemaComplaint takes the validator's path prefix off: "validating root:
// validating /properties/path: type: …" becomes "path: type: …".
func schemaComplaint(err error) string {
	s := strings.TrimPrefix(err.Error(), "validating root: ")
	if rest, ok := strings.CutPrefix(s, "validating /properties/"); ok {
		return rest
	}
	return s
}

// decode fills the handler's argument struct from arguments the schema has
// accepted. What can still fail is a number beyond the field's range.
func decode[T any](c Call) (T, error) {
	var args T
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return args, fmt.Errorf("invalid arguments for %s: %w", c.Name, err)
	}
	return args, nil
}
