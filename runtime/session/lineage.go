package session

import "encoding/json"

// Marker says how a session came from its parent; it is kept in the model_config JSON of its row.
type Marker string

// The markers of S-103.
const (
	BranchedFrom Marker = "_branched_from"
	DelegateFrom Marker = "_delegate_from"
	ResetFrom    Marker = "_reset_from"
)

// Mark gives the model_config of a session that came from parent, with what config held before.
func Mark(config string, m Marker, parent string) (string, error) {
	fields := map[string]any{}
	if config != "" {
		if err := json.Unmarshal([]byte(config), &fields); err != nil || fields == nil {
			fields = map[string]any{} // not an object: nothing of it can be kept
		}
	}
	fields[string(m)] = parent
	out, err := json.Marshal(fields)
	return string(out), err
}

// Marked reports whether a session came from its parent in that way. A marker that names another session than the
// row's own parent says nothing. Implements S-103.
func Marked(config string, m Marker, parent string) bool {
	var fields map[string]json.RawMessage
	var from string
	return parent != "" && json.Unmarshal([]byte(config), &fields) == nil &&
		json.Unmarshal(fields[string(m)], &from) == nil && from == parent
}
