package manifests

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	alice = "apiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: alice}\n"
	bob   = "apiVersion: hermes.dev/v1alpha1\nkind: Profile\nmetadata: {name: bob}\n"
)

// summary is what a table test says about documents: position, then identity or error.
func summary(docs []Document) []string {
	var out []string
	for _, d := range docs {
		what := ""
		if d.Err != nil {
			what = "error: " + d.Err.Error()
		} else {
			what = identityOf(d.Object).String()
		}
		out = append(out, d.Position()+" "+what)
	}
	return out
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"one":                        {alice, []string{"f:1 (document 1) profile.hermes.dev/alice"}},
		"two":                        {alice + "---\n" + bob, []string{"f:1 (document 1) profile.hermes.dev/alice", "f:5 (document 2) profile.hermes.dev/bob"}},
		"nothing":                    {"", nil},
		"only comments":              {"# a\n---\n# b\n---\n", nil},
		"the line of the content":    {"# a\n\n" + alice, []string{"f:3 (document 1) profile.hermes.dev/alice"}},
		"windows line ends":          {strings.ReplaceAll(alice+"---\n"+bob, "\n", "\r\n"), []string{"f:1 (document 1) profile.hermes.dev/alice", "f:5 (document 2) profile.hermes.dev/bob"}},
		"separator with a comment":   {alice + "--- # next\n" + bob, []string{"f:1 (document 1) profile.hermes.dev/alice", "f:5 (document 2) profile.hermes.dev/bob"}},
		"no separator inside a text": {alice + "spec:\n  identity:\n    soul: |\n      a\n      ---\n      b\n", []string{"f:1 (document 1) profile.hermes.dev/alice"}},
		"a longer rule is no cut":    {alice + "spec:\n  config: |\n----\n", []string{"f:1 (document 1) error: line 7: could not find expected ':'"}},
		"json":                       {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`, []string{"f:1 (document 1) secret/s"}},
		"json after json":            {"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"t\"}}", []string{"f:1 (document 1) secret/s", "f:3 (document 2) secret/t"}},
		"a list is taken apart": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}}\n- {apiVersion: v1, kind: Secret, metadata: {name: t}}\n",
			[]string{"f:1 (document 1) secret/s", "f:1 (document 1) secret/t"}},
		"a broken one hides nobody":    {"a: [\n---\n" + bob, []string{"f:1 (document 1) error: line 1: did not find expected node content", "f:3 (document 2) profile.hermes.dev/bob"}},
		"the line of a broken one":     {alice + "---\n\na: b\nc: [x\n", []string{"f:1 (document 1) profile.hermes.dev/alice", "f:6 (document 2) error: line 7: did not find expected ',' or ']'"}},
		"a key given twice is refused": {alice + "kind: Gateway\n", []string{`f:1 (document 1) error: line 4: key "kind" already set in map`}},
		"no kind":                      {"apiVersion: v1\nmetadata: {name: x}\n", []string{"f:1 (document 1) error: has no kind, for example kind: Profile"}},
		"no apiVersion":                {"kind: Profile\nmetadata: {name: x}\n", []string{"f:1 (document 1) error: has no apiVersion, for example apiVersion: hermes.dev/v1alpha1"}},
		"no name":                      {"apiVersion: v1\nkind: Secret\n", []string{"f:1 (document 1) error: has no metadata.name"}},
		"a bare text":                  {"hello\n", []string{"f:1 (document 1) error: is not an object: it must have apiVersion, kind and metadata"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summary(Parse("f", []byte(tc.in)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(alice + "---\n" + bob))
	f.Add([]byte("{\"a\":1}{"))
	f.Add([]byte("---\n--- x\n...\n%YAML 1.2\n---"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		lines := strings.Count(string(raw), "\n") + 1
		for _, d := range Parse("f", raw) {
			if (d.Err == nil) == (d.Object == nil) {
				t.Errorf("document with error %v and object %v", d.Err, d.Object)
			}
			if d.Line < 1 || d.Line > lines {
				t.Errorf("line %d of %d", d.Line, lines)
			}
		}
	})
}

func TestReadDirectory(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", bob)
	write("sub/a.yml", alice)
	write("README.md", "no manifest")
	write(".hidden.yaml", "broken: [")
	write(".git/x.yaml", "broken: [")
	if err := os.Symlink(filepath.Join(dir, "b.yaml"), filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		dir + "/b.yaml:1 (document 1) profile.hermes.dev/bob",
		dir + "/link.json:1 (document 1) profile.hermes.dev/bob",
		dir + "/sub/a.yml:1 (document 1) profile.hermes.dev/alice",
	}
	if diff := cmp.Diff(want, summary(Read([]string{dir}, nil))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReadSaysWhatItCannotRead(t *testing.T) {
	empty := t.TempDir()
	docs := Read([]string{"/does/not/exist", empty, "-"}, strings.NewReader(alice))
	want := []string{
		"/does/not/exist error: no such file or directory",
		empty + " error: holds no *.yaml, *.yml or *.json file",
		"-:1 (document 1) profile.hermes.dev/alice",
	}
	if diff := cmp.Diff(want, summary(docs)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSetNameIsThatOfThePlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	relative, err := SetName([]string{"."})
	absolute, err2 := SetName([]string{dir})
	other, err3 := SetName([]string{dir + "/x"})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if relative != absolute || absolute == other {
		t.Errorf("names %s, %s, %s: want the first two equal and the third another", relative, absolute, other)
	}
	if len(absolute) > 63 {
		t.Errorf("%s is no label value", absolute)
	}
}
