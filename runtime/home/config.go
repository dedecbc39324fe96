package home

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Config is one reading of a config.yaml. It never changes; callers share it and must not change what it returns.
type Config struct {
	keys map[string]any
}

// emptyConfig is a profile without a config.yaml.
func emptyConfig() *Config { return &Config{} }

// ParseConfig reads the text of a config.yaml. An empty text is an empty config.
func ParseConfig(data []byte) (*Config, error) {
	keys, err := decodeYAML(data)
	if err != nil {
		return nil, err
	}
	return &Config{keys: keys}, nil
}

// Lookup is the raw value at a path and whether the key is there.
func (c *Config) Lookup(path ...string) (any, bool) { return lookup(c.keys, path...) }

// Bool is true only for the literal boolean true; strings, numbers, null and a malformed section are false.
// Implements M-2.
func (c *Config) Bool(path ...string) bool {
	v, _ := lookup(c.keys, path...)
	b, ok := v.(bool)
	return ok && b
}

// IsFalse is true only for the literal boolean false, for keys that are on unless switched off.
func (c *Config) IsFalse(path ...string) bool {
	v, _ := lookup(c.keys, path...)
	b, ok := v.(bool)
	return ok && !b
}

// String is the text at a path, empty when there is none or it is not text.
func (c *Config) String(path ...string) string {
	v, _ := lookup(c.keys, path...)
	s, _ := v.(string)
	return s
}

// Int is the whole number at a path and whether there is one. A boolean, a text or a fraction is none.
func (c *Config) Int(path ...string) (int64, bool) {
	v, _ := lookup(c.keys, path...)
	switch v := canonical(v).(type) {
	case int64:
		return v, true
	default:
		return 0, false
	}
}

// Float is the number at a path and whether there is one.
func (c *Config) Float(path ...string) (float64, bool) {
	v, _ := lookup(c.keys, path...)
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}

// Strings is the list of texts at a path; one text is a list of one, entries that are not text are left out.
func (c *Config) Strings(path ...string) []string {
	v, _ := lookup(c.keys, path...)
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		out := make([]string, 0, len(v))
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	default:
		return nil
	}
}

// Decode fills a struct with yaml tags from the section at a path; an absent section leaves it as it is.
func (c *Config) Decode(into any, path ...string) error {
	v, ok := lookup(c.keys, path...)
	if !ok || v == nil {
		return nil
	}
	text, err := yaml.Marshal(v)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("config key %q: %w", dotted(path), err)
	}
	return nil
}
