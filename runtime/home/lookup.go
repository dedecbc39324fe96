package home

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/utils/clock"
)

// Secrets answers by key for one profile. There is no other source behind it: not the process environment, not
// another profile, not a default. An absent key is an error that says so.
type Secrets interface {
	// Lookup is the declared value of a key. The error is an *ErrSecretMissing when it is not declared, and any
	// other error when the profile's secrets cannot be read; then no value is known.
	Lookup(key string) (string, error)
	// Environment lists all declared variables as NAME=value, for the profile's child processes.
	Environment() ([]string, error)
}

// ErrSecretMissing means that the profile declares no such key.
type ErrSecretMissing struct {
	// Home of the profile that was asked.
	Home string
	// Key that is not there.
	Key string
}

func (e *ErrSecretMissing) Error() string {
	return fmt.Sprintf("%s is not declared for the profile at %s: declare it in spec.env", e.Key, e.Home)
}

// environment is one parsed .env.
type environment struct {
	entries []EnvEntry
	values  map[string]string
}

// EnvView is the hot view of one home's .env, with the guarantees of View, but failing closed: while the file
// cannot be read no value is known, because an old one may have been revoked. A file that is gone declares nothing.
type EnvView struct {
	home string
	file *hotFile[environment]
}

var _ Secrets = (*EnvView)(nil)

// NewEnvView makes a view of the .env of a profile's home.
func NewEnvView(p Paths, c clock.PassiveClock) *EnvView {
	return &EnvView{home: p.Home, file: newHotFile(p.Env(), c, parseEnvironment, func() *environment { return &environment{} })}
}

func parseEnvironment(data []byte) (*environment, error) {
	entries, err := ParseEnv(data)
	if err != nil {
		return nil, err
	}
	e := &environment{entries: entries, values: make(map[string]string, len(entries))}
	for _, entry := range entries {
		e.values[entry.Name] = entry.Value
	}
	return e, nil
}

func (v *EnvView) read() (*environment, error) {
	r := v.file.get()
	if r.err != nil {
		return nil, fmt.Errorf("read secrets of %s: %w", v.home, r.err)
	}
	return r.value, nil
}

// Lookup implements Secrets. An empty value is a declared one.
func (v *EnvView) Lookup(key string) (string, error) {
	e, err := v.read()
	if err != nil {
		return "", err
	}
	value, ok := e.values[key]
	if !ok {
		return "", &ErrSecretMissing{Home: v.home, Key: key}
	}
	return value, nil
}

// Environment implements Secrets. The runtime's own credentials are left out: a tool has no use for the keys of
// the model, and what a tool sees a prompt can ask for.
func (v *EnvView) Environment() ([]string, error) {
	e, err := v.read()
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(e.entries))
	for _, entry := range e.entries {
		if !strings.HasPrefix(entry.Name, runtimeEnvPrefix) {
			out = append(out, entry.Name+"="+entry.Value)
		}
	}
	return out, nil
}

// Invalidate makes the next read look at the file.
func (v *EnvView) Invalidate() { v.file.invalidate() }

const maxCredentials = 16 // MaxItems of spec.model.credentials

// ModelKeys are the API keys of the model in the order they are tried; fallback 0 is the model itself, 1 the first
// of its fallbacks. A key that is missing leaves no gap. An empty list is not an error: a local server needs none.
func ModelKeys(s Secrets, fallback int) ([]string, error) {
	base := modelKeyEnv
	if fallback > 0 {
		base = fmt.Sprintf(fallbackKeyEnv, fallback)
	}
	var keys []string
	for i := range maxCredentials {
		key, err := s.Lookup(numbered(base, i))
		var missing *ErrSecretMissing
		switch {
		case errors.As(err, &missing):
		case err != nil:
			return nil, err
		case key != "":
			keys = append(keys, key)
		}
	}
	return keys, nil
}

var variableReference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand replaces each ${NAME} in a config value with the profile's own value. A name that is not declared is an
// error, never an empty text. Values are not expanded again.
func Expand(text string, s Secrets) (string, error) {
	var failed error
	out := variableReference.ReplaceAllStringFunc(text, func(ref string) string {
		value, err := s.Lookup(ref[2 : len(ref)-1])
		if err != nil && failed == nil {
			failed = err
		}
		return value
	})
	if failed != nil {
		return "", failed
	}
	return out, nil
}
