// Package hack holds the tests of what is generated. The generators themselves stand beside it.
package hack

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreCurrent runs the generators of `make generate manifests` into
// an empty directory and compares with what is committed.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	out := t.TempDir()
	run(t, "object:headerFile=hack/boilerplate.go.txt", "paths=./api/...", "output:object:dir="+out)
	run(t, "crd", "paths=./api/...", "output:crd:artifacts:config="+filepath.Join(out, "crd"))
	compare(t, filepath.Join(out, "zz_generated.deepcopy.go"), "../api/v1alpha1/zz_generated.deepcopy.go")
	fresh, err := filepath.Glob(filepath.Join(out, "crd", "*.yaml"))
	if err != nil || len(fresh) != 5 {
		t.Fatalf("generated %d CRDs (%v), want 5", len(fresh), err)
	}
	for _, path := range fresh {
		compare(t, path, filepath.Join("../config/crd/bases", filepath.Base(path)))
	}
}

func run(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "controller-gen"}, args...)...)
	cmd.Dir = ".."
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("controller-gen %v: %v\n%s", args, err, text)
	}
}

func compare(t *testing.T, fresh, committed string) {
	t.Helper()
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run make generate manifests", committed)
	}
}
