package home

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Declaration is what a Profile declares of config.yaml. It never changes. What it names holds, whatever the file says:
// the tools of an agent run as the user that owns the file.
type Declaration struct {
	keys map[string]any
}

// Declaration is the declared part of the bundle's config.yaml.
func (b Bundle) Declaration() (*Declaration, error) {
	// Through the text, so that a value has the type that a reader of the file would get.
	text, err := encodeYAML(b.Config)
	if err != nil {
		return nil, fmt.Errorf("declared config: %w", err)
	}
	keys, err := decodeYAML(text)
	if err != nil {
		return nil, fmt.Errorf("declared config: %w", err)
	}
	return &Declaration{keys: keys}, nil
}

// decidingSections are the top-level keys of config.yaml that decide what an agent may do and whom it talks to. In a
// managed home they are what is declared and nothing else, so that a key nobody declared has its default and not what a
// command of the agent wrote there.
func decidingSections() []string {
	return []string{
		"approvals", "auxiliary", "custom_toolsets", "disabled_toolsets", "fallback_providers", "hooks", "mcp_servers", "model",
		"peers", "plugins", "providers", "skills", "terminal", "toolsets", "web",
	}
}

// effective is what holds of the keys on disk under a declaration; nil declares nothing and is a home that nobody
// manages. It changes neither. Implements the reading side of N-21.
func effective(onDisk map[string]any, d *Declaration) map[string]any {
	if d == nil {
		return onDisk
	}
	out := make(map[string]any, len(onDisk)+len(d.keys))
	for key, v := range onDisk {
		if !slices.Contains(decidingSections(), key) {
			out[key] = v
		}
	}
	return overlaid(out, d.keys)
}

// overlaid lays declared keys over others: mappings key by key, anything else whole. under may be changed.
func overlaid(under, over map[string]any) map[string]any {
	for key, v := range over {
		declared, isMap := v.(map[string]any)
		if !isMap {
			under[key] = v
			continue
		}
		have, _ := under[key].(map[string]any)
		merged := make(map[string]any, len(have)+len(declared))
		for k, e := range have {
			merged[k] = e
		}
		under[key] = overlaid(merged, declared)
	}
	return under
}

// seal is a digest of declared keys and their values that is the same for what was declared and for what was read back.
func seal(keys map[string]any) string {
	type sealed struct {
		Path  []string
		Value any
	}
	list := []sealed{}
	for _, l := range leaves(keys, nil) {
		list = append(list, sealed{l.path, canonical(l.value)})
	}
	text, err := json.Marshal(list)
	if err != nil { // an infinite number: no two of them are alike
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// taken are the values that keys on disk give to the declared paths; one that is not there is left out.
func taken(onDisk map[string]any, paths [][]string) map[string]any {
	out := map[string]any{}
	for _, path := range paths {
		v, ok := lookup(onDisk, path...)
		if !ok || len(path) == 0 {
			continue
		}
		if m, isMap := v.(map[string]any); isMap && len(m) > 0 {
			v = map[string]any{} // a declared key never holds more: the rest is somebody else's
		}
		for _, key := range slices.Backward(path) {
			v = map[string]any{key: v}
		}
		overlaid(out, v.(map[string]any))
	}
	return out
}

// errDrifted means that config.yaml and the record of what was declared do not agree.
var errDrifted = errors.New("config.yaml does not hold what the Profile declares, so somebody changed it: it is written again as soon as " +
	"the API server is reached; without one, put the declared keys back, or move " + recordName + " away to make the file your own")

// recalled is the declaration that a home was last written from, as the file and the record have it; nil when nobody
// manages the home. It is for the time before the API server has said what is declared: what does not agree with the
// record is refused.
func recalled(home string, onDisk map[string]any) (*Declaration, error) {
	r, err := readRecord(home)
	if err != nil || r == nil || r.Released {
		return nil, err
	}
	keys := taken(onDisk, r.ConfigKeys)
	if r.Config.State != stateOwned || seal(keys) != r.ConfigSeal {
		return nil, errDrifted
	}
	return &Declaration{keys: keys}, nil
}
