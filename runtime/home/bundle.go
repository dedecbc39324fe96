package home

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

const (
	// BundleVersion is the format that Encode writes and Decode reads.
	BundleVersion = 1
	// MaxBundleSize in bytes: one Secret holds 1 MiB; the rest is left for metadata and base64-free keys.
	MaxBundleSize = 1<<20 - 16<<10
)

// EnvEntry is one variable of the .env file.
type EnvEntry struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Bundle is a rendered home: everything a gateway needs to write it, and nothing else.
type Bundle struct {
	// Version of the format.
	Version int `json:"version"`
	// Namespace, Profile, Gateway and UID are the identity of the home's owner.
	Namespace string `json:"namespace"`
	Profile   string `json:"profile"`
	Gateway   string `json:"gateway"`
	UID       string `json:"uid,omitempty"`
	// Suspended closes the profile.
	Suspended bool `json:"suspended,omitempty"`
	// Config holds the declared keys of config.yaml only. Values are maps, lists, strings, bools, int64, uint64, float64 or nil.
	Config map[string]any `json:"config,omitempty"`
	// Env is the whole .env, each name once, in file order.
	Env []EnvEntry `json:"env,omitempty"`
	// HomeFiles by path relative to the home.
	HomeFiles map[string][]byte `json:"homeFiles,omitempty"`
	// WorkspaceDirectory is the declared working directory, absolute, or empty.
	WorkspaceDirectory string `json:"workspaceDirectory,omitempty"`
	// Documents by path relative to WorkspaceDirectory.
	Documents map[string][]byte `json:"documents,omitempty"`

	// Missing are referenced values that are absent or empty; they are in no part of the bundle and not encoded.
	Missing []MissingRef `json:"-"`
	// Ignored are keys taken whole from an object that cannot be variables; not encoded.
	Ignored []IgnoredKey `json:"-"`
}

// MissingRef is a reference whose value is not there.
type MissingRef struct {
	// Kind is Secret or ConfigMap.
	Kind string
	// Name and Key of the value; Key is empty when the whole object is wanted.
	Name, Key string
	// Field of the Profile that refers to it.
	Field string
	// NotFound is true when the object itself does not exist, false when the key is absent or its value empty.
	NotFound bool
}

// IgnoredKey is a key of an envFrom object that cannot be a variable.
type IgnoredKey struct {
	Kind, Name, Key string
	// Why in words.
	Why string
}

// Identity is who owns the bundle's home.
func (b Bundle) Identity() Identity {
	return Identity{Namespace: b.Namespace, Profile: b.Profile, Gateway: b.Gateway, UID: b.UID}
}

// Encode is the bundle as JSON: the same bundle gives the same bytes.
func (b Bundle) Encode() []byte {
	data, err := json.Marshal(b)
	if err != nil { // only values that normalise refuses can do this
		panic(fmt.Sprintf("encode bundle: %v", err))
	}
	return data
}

// Hash is the first 16 hex digits of the SHA-256 of the encoding.
func (b Bundle) Hash() string { return shortHash(b.Encode()) }

func shortHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Decode reads what Encode wrote. It refuses other versions, unknown fields, trailing data and paths that Render
// would not have written, because the Secret it came from can be edited by hand.
func Decode(data []byte) (Bundle, error) {
	var b Bundle
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(&b); err != nil {
		return Bundle{}, fmt.Errorf("decode home: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Bundle{}, errors.New("decode home: data after the end")
	}
	if b.Version != BundleVersion {
		return Bundle{}, fmt.Errorf("decode home: version %d is not %d: controller and gateway differ, update both", b.Version, BundleVersion)
	}
	if b.Config != nil {
		config, err := normalise(b.Config)
		if err != nil {
			return Bundle{}, fmt.Errorf("decode home: %w", err)
		}
		b.Config = config.(map[string]any)
	}
	return b, b.check()
}

// check holds the invariants of a bundle that came from outside.
func (b Bundle) check() error {
	if _, err := ParseProfileName(b.Profile); err != nil {
		return fmt.Errorf("decode home: %w", err)
	}
	for _, p := range sortedKeys(b.HomeFiles) {
		if err := CheckHomePath(p); err != nil {
			return fmt.Errorf("decode home: %w", err)
		}
	}
	for _, p := range sortedKeys(b.Documents) {
		if err := CheckDocumentPath(p); err != nil {
			return fmt.Errorf("decode home: %w", err)
		}
	}
	for _, e := range b.Env {
		if err := checkEnv(e.Name, e.Value); err != nil {
			return fmt.Errorf("decode home: %w", err)
		}
	}
	return cmp.Or(checkTree(b.HomeFiles), checkTree(b.Documents))
}

// normalise turns decoded JSON numbers into int64, uint64 or float64 so that equal values compare equal.
func normalise(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i, nil
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s is out of range", v)
		}
		return f, nil
	case map[string]any:
		for k, e := range v {
			n, err := normalise(e)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			v[k] = n
		}
	case []any:
		for i, e := range v {
			n, err := normalise(e)
			if err != nil {
				return nil, err
			}
			v[i] = n
		}
	}
	return v, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
