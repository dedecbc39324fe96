package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"hermes.dev/hermes/cmd/hermes/internal/manifests"
)

// TestDeleteTakesWhatApplyTakes: a directory means the same files to both verbs.
func TestDeleteTakesWhatApplyTakes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "sub/b.YML", "sub/c.json", ".hidden/d.yaml", "e.yaml~", ".f.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("kind: X\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	one := filepath.Join(dir, "e.yaml~")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringSliceP("filename", "f", nil, "")
	if err := flags.Parse([]string{"-f", dir, "-f", "-", "-f", one}); err != nil {
		t.Fatal(err)
	}
	if err := expandDirectories(flags.Lookup("filename")); err != nil {
		t.Fatal(err)
	}
	got, err := flags.GetStringSlice("filename")
	if err != nil {
		t.Fatal(err)
	}
	applied, err := manifests.Files(dir)
	if err != nil || len(applied) != 3 {
		t.Fatalf("%v, %v", applied, err)
	}
	if want := append(applied, "-", one); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
