// Package profilehome writes homes of profiles for tests, through the same code as a gateway: no test may depend on
// a layout of its own making.
package profilehome

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/home"
)

// Spec is what a home holds.
type Spec struct {
	// Config are the keys of config.yaml.
	Config map[string]any
	// Env is the .env, NAME to value.
	Env map[string]string
	// Files by path relative to the home.
	Files map[string]string
}

// Demo is a profile that needs no network.
func Demo() Spec { return Spec{Config: map[string]any{"model": map[string]any{"provider": "demo"}}} }

// Model is a profile of an OpenAI-compatible server. key "" declares none. Tools run without asking.
func Model(url, key string) Spec {
	s := Spec{
		Config: map[string]any{
			"model":     map[string]any{"provider": "custom", "base_url": url, "default": "fake-1"},
			"approvals": map[string]any{"mode": "allow"},
		},
		Env: map[string]string{},
	}
	if key != "" {
		s.Env["HERMES_MODEL_API_KEY"] = key
	}
	return s
}

// Write writes the home of a profile below root, or writes it again.
func Write(t testing.TB, root, name string, s Spec) home.Paths {
	t.Helper()
	b := home.Bundle{Version: home.BundleVersion, Namespace: "default", Profile: name, Gateway: "default", Config: s.Config}
	for k, v := range s.Env {
		b.Env = append(b.Env, home.EnvEntry{Name: k, Value: v})
	}
	for path, text := range s.Files {
		if b.HomeFiles == nil {
			b.HomeFiles = map[string][]byte{}
		}
		b.HomeFiles[path] = []byte(text)
	}
	r, err := home.Materialise(context.Background(), root, b, home.Options{Now: time.Now(), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	return r.Paths
}
