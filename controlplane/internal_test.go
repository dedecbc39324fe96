package controlplane

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFindBinaryOrder(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "bin")
	touch := func(path string, mode os.FileMode) string {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nothing := func(string) (string, error) { return "", errors.New("not found") }

	_, err := findBinary(dir, nothing)
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Fatalf("nothing there: error %v, want one that says how to build it", err)
	}
	onPath := touch(filepath.Join(top, "path", BinaryName), 0o755)
	check := func(want string) {
		t.Helper()
		got, err := findBinary(dir, func(string) (string, error) { return onPath, nil })
		if err != nil || got != want {
			t.Fatalf("found %q, %v; want %q", got, err, want)
		}
	}
	check(onPath)
	touch(filepath.Join(dir, BinaryName), 0o644)
	check(onPath) // not executable
	libexec := touch(filepath.Join(top, "libexec", BinaryName), 0o755)
	check(libexec)
	if err := os.Remove(filepath.Join(dir, BinaryName)); err != nil {
		t.Fatal(err)
	}
	check(touch(filepath.Join(dir, BinaryName), 0o755))
}

func TestFindBinaryExplicit(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := FindBinary(missing); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Fatalf("error %v, want one that says how to build it", err)
	}
	if _, err := FindBinary(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not an executable file") {
		t.Fatalf("a directory gave %v", err)
	}
}

func TestTailKeepsLastLines(t *testing.T) {
	var all bytes.Buffer
	tl := &tail{out: &all}
	var want []string
	for i := range 30 {
		line := strings.Repeat("x", i)
		if i >= 10 {
			want = append(want, line)
		}
		// In pieces, as a pipe delivers.
		_, _ = io.WriteString(tl, line[:i/2])
		_, _ = io.WriteString(tl, line[i/2:]+"\n")
	}
	if got := tl.last(); !slices.Equal(got, want) {
		t.Fatalf("last lines %q, want %q", got, want)
	}
	_, _ = io.WriteString(tl, strings.Repeat("y", 3*tailLineSize))
	if got := tl.last(); len(got[len(got)-1]) != tailLineSize {
		t.Fatalf("a long line was kept with %d bytes, want %d", len(got[len(got)-1]), tailLineSize)
	}
	if all.Len() != 29*30/2+30+3*tailLineSize {
		t.Fatalf("passed on %d bytes", all.Len())
	}
}

func TestReason(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing printed", nil, ""},
		{"own line before noise", []string{"a", BinaryName + ": the port is taken", "E1129 library noise"}, "the port is taken"},
		{"only a panic", []string{"panic: boom", "goroutine 1"}, "goroutine 1"},
	} {
		if got := reason(tc.lines); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestReadCRDs(t *testing.T) {
	crd := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n"
	for _, tc := range []struct {
		name, content, says string
		count               int
	}{
		{name: "one", content: crd, count: 1},
		{name: "two and an empty document", content: "---\n" + crd + "---\n---\n" + crd, count: 2},
		{name: "something else", content: crd + "---\napiVersion: v1\nkind: Secret\n", says: "holds a v1 Secret"},
		{name: "no YAML", content: "{", says: "x.yaml"},
	} {
		got, err := readCRDs(fstest.MapFS{"x.yaml": {Data: []byte(tc.content)}, "README.md": {Data: []byte("no")}})
		if tc.says == "" && (err != nil || len(got) != tc.count) {
			t.Errorf("%s: %d CRDs, %v; want %d", tc.name, len(got), err, tc.count)
		}
		if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: error %v, want one that says %q", tc.name, err, tc.says)
		}
	}
}
