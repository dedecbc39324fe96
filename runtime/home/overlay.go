package home

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// typedConfig is config.yaml as the typed fields declare it, with the field behind each key.
type typedConfig struct {
	keys   map[string]any
	fields map[string]string // dotted key -> spec field
}

func (c *typedConfig) set(field string, value any, path ...string) {
	m := c.keys
	for _, key := range path[:len(path)-1] {
		child, ok := m[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			m[key] = child
		}
		m = child
	}
	m[path[len(path)-1]] = value
	c.fields[dotted(path)] = field
}

func (c *typedConfig) setText(field, value string, path ...string) {
	if value != "" {
		c.set(field, value, path...)
	}
}

func (c *typedConfig) setList(field string, values []string, path ...string) {
	if len(values) > 0 {
		c.set(field, anyList(values), path...)
	}
}

// overlay lays spec.config over the typed keys. A key that a typed field set to something else is refused, and so
// is a secret in plain text.
func (c *typedConfig) overlay(raw *apiextensionsv1.JSON) error {
	if raw == nil || len(bytes.TrimSpace(raw.Raw)) == 0 || string(bytes.TrimSpace(raw.Raw)) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw.Raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return &ErrConfigInvalid{Key: "spec.config", Problem: "it is not valid: " + err.Error()}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return &ErrConfigInvalid{Key: "spec.config", Problem: "it has to be an object with the keys of config.yaml"}
	}
	if deeper(object, maxConfigDepth) {
		return &ErrConfigInvalid{Key: "spec.config", Problem: fmt.Sprintf("it is nested deeper than %d levels: make it flatter", maxConfigDepth)}
	}
	if _, err := normalise(object); err != nil {
		return &ErrConfigInvalid{Key: "spec.config", Problem: err.Error()}
	}
	if err := checkOverlay(object, nil); err != nil {
		return err
	}
	return c.merge(c.keys, object, nil)
}

// maxConfigDepth is how many objects and lists may stand inside each other in spec.config. The written file is indented,
// so it grows with the square of the depth: 9,000 levels are 20 KB as JSON and 160 MB as config.yaml.
const maxConfigDepth = 64

// deeper reports whether v has more than the given number of levels.
func deeper(v any, levels int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if levels == 0 || deeper(e, levels-1) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if levels == 0 || deeper(e, levels-1) {
				return true
			}
		}
	}
	return false
}

func (c *typedConfig) merge(into, from map[string]any, path []string) error {
	for _, key := range sortedKeys(from) {
		at := append(path[:len(path):len(path)], key)
		declared, exists := into[key]
		if !exists {
			into[key] = from[key]
			continue
		}
		a, aMap := declared.(map[string]any)
		b, bMap := from[key].(map[string]any)
		switch {
		case aMap && bMap:
			if err := c.merge(a, b, at); err != nil {
				return err
			}
		case !reflect.DeepEqual(declared, from[key]):
			return &ErrConfigInvalid{Key: dotted(at), Problem: "a field of the Profile sets it already: change " + c.owner(at) + " and remove it from spec.config"}
		}
	}
	return nil
}

// owner names the typed field that set the key, or the first one below it.
func (c *typedConfig) owner(path []string) string {
	for n := len(path); n > 0; n-- {
		if field, ok := c.fields[dotted(path[:n])]; ok {
			return field
		}
	}
	for _, key := range sortedKeys(c.fields) {
		if strings.HasPrefix(key, dotted(path)+".") {
			return c.fields[key]
		}
	}
	return "that field"
}

// checkOverlay refuses what may not stand in config.yaml at all.
func checkOverlay(object map[string]any, path []string) error {
	for _, key := range sortedKeys(object) {
		at := append(path[:len(path):len(path)], key)
		if key == "" {
			return &ErrConfigInvalid{Key: dotted(at), Problem: "a key is empty: name it"}
		}
		if dotted(at) == "telemetry.shared_metrics" {
			// Consent has its own kind so that permission to give it can be separate from editing profiles.
			return &ErrConfigInvalid{Key: dotted(at), Problem: "consent is declared with a MetricsConsent object: remove it from spec.config"}
		}
		if inlinesSecret(key, object[key]) {
			return &ErrConfigInvalid{Key: dotted(at), Problem: "it looks like a secret in plain text: put it into a Secret and use env.valueFrom"}
		}
		if err := checkOverlayValue(object[key], at); err != nil {
			return err
		}
	}
	return nil
}

func checkOverlayValue(v any, at []string) error {
	switch v := v.(type) {
	case map[string]any:
		return checkOverlay(v, at)
	case []any:
		for _, e := range v {
			if err := checkOverlayValue(e, at); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	secretKey    = regexp.MustCompile(`(apikey|apikeys|token|password|passwords|passwd|secret|privatekey|accesskey|authorization)$`)
	envReference = regexp.MustCompile(`^\s*([A-Za-z]+\s+)?\$\{[A-Za-z_][A-Za-z0-9_]*\}\s*$`)
)

// inlinesSecret says whether the key's name says secret and its value is literal text. A reference such as
// ${NAME} or "Bearer ${NAME}" is what to write instead.
func inlinesSecret(key string, value any) bool {
	folded := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(key))
	if !secretKey.MatchString(folded) {
		return false
	}
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v) != "" && !envReference.MatchString(v)
	case []any:
		for _, e := range v {
			if inlinesSecret(key, e) {
				return true
			}
		}
	}
	return false
}

func dotted(path []string) string { return strings.Join(path, ".") }

func lookup(m map[string]any, path ...string) (any, bool) {
	var v any = m
	for _, key := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[key]; !ok {
			return nil, false
		}
	}
	return v, true
}
