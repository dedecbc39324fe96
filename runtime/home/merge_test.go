package home

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestMergeConfig_N21(t *testing.T) {
	declared := map[string]any{"model": map[string]any{"default": "m"}, "list": []any{"a", "b"}}
	for name, tc := range map[string]struct {
		disk string
		drop [][]string
		want string
	}{
		"empty":                          {"", nil, "list:\n  - a\n  - b\nmodel:\n  default: m\n"},
		"only comments":                  {"# mine\n", nil, "# mine\nlist:\n  - a\n  - b\nmodel:\n  default: m\n"},
		"null":                           {"null\n", nil, "list:\n  - a\n  - b\nmodel:\n  default: m\n"},
		"flow":                           {"{}\n", nil, "list:\n  - a\n  - b\nmodel:\n  default: m\n"},
		"same, kept as is":               {"model:   {default: 'm'}   # x\nlist: [a, b]\n\n\nz: 1\n", nil, "model:   {default: 'm'}   # x\nlist: [a, b]\n\n\nz: 1\n"},
		"comments":                       {"# head\nmodel:\n  # about default\n  default: old # why\n  mine: 1 # keep\nlist: [a, b]\n# foot\n", nil, "# head\nmodel:\n  # about default\n  default: m # why\n  mine: 1 # keep\nlist: [a, b]\n# foot\n"},
		"scalar in the way":              {"model: old\nlist: [a, b]\n", nil, "model:\n  default: m\nlist: [a, b]\n"},
		"drop":                           {"model: {default: m, gone: 1}\nlist: [a, b]\nold:\n  x: 1\n", [][]string{{"model", "gone"}, {"old", "x"}}, "model: {default: m}\nlist: [a, b]\n"},
		"drop leaves a person's mapping": {"model: {default: m}\nlist: [a, b]\nold:\n  x: {mine: 1}\n", [][]string{{"old", "x"}}, "model: {default: m}\nlist: [a, b]\nold:\n  x: {mine: 1}\n"},
		"declared again is not dropped":  {"model: {default: m}\nlist: [a, b]\n", [][]string{{"list"}}, "model: {default: m}\nlist: [a, b]\n"},
		"number keys":                    {"model: {12345: x, default: m}\nlist: [a, b]\n1: 2\n", nil, "model: {12345: x, default: m}\nlist: [a, b]\n1: 2\n"},
		"number keys beside":             {"model: {12345: x}\nlist: [a, b]\n1: 2\n", nil, "model: {12345: x, default: m}\nlist: [a, b]\n1: 2\n"},
		"alias":                          {"base: &b {default: old, z: 1}\nmodel: *b\nlist: [a, b]\n", nil, "base: &b {default: old, z: 1}\nmodel: {default: m, z: 1}\nlist: [a, b]\n"},
	} {
		got, err := mergeConfig([]byte(tc.disk), declared, tc.drop)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
		again, err := mergeConfig(got, declared, nil)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: a second merge changes it: %v", name, err)
		}
	}
	kept, err := mergeConfig([]byte("s: {mine: 1}\n"), map[string]any{"s": map[string]any{}}, nil)
	if err != nil || string(kept) != "s: {mine: 1}\n" {
		t.Errorf("an empty declared section emptied a person's: %v %s", err, kept)
	}
	for _, bad := range []string{"a: [", "- x\n", "text\n", "a: 1\na: 2\n", "a: 1\n---\nb: 1\n", "x: &a 1\nmodel: *c\n"} {
		if got, err := mergeConfig([]byte(bad), declared, nil); err == nil {
			t.Errorf("%q accepted: %s", bad, got)
		}
	}
}

// Property: after a merge the declared keys hold, every other key keeps its value, and merging again changes nothing.
func TestMergeConfig_Property(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1500 {
		disk, err := yaml.Marshal(randomConfig(rng, 3))
		if err != nil {
			t.Fatal(err)
		}
		checkMerge(t, disk, randomConfig(rng, 3))
	}
}

func checkMerge(t *testing.T, disk []byte, declared map[string]any) {
	t.Helper()
	out, err := mergeConfig(disk, declared, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, disk)
	}
	c, err := ParseConfig(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, l := range leaves(declared, nil) {
		v, ok := c.Lookup(l.path...)
		if m, isMap := l.value.(map[string]any); isMap && len(m) == 0 {
			_, ok = v.(map[string]any)
			if !ok {
				t.Fatalf("%v is not a mapping", l.path)
			}
			continue
		}
		if !ok || !sameValue(v, l.value) {
			t.Fatalf("%v = %#v, want %#v\n%s", l.path, v, l.value, out)
		}
	}
	var before, after map[string]any
	if yaml.Unmarshal(disk, &before) != nil || yaml.Unmarshal(out, &after) != nil {
		t.Fatal("does not parse")
	}
	for k, v := range before {
		if _, touched := declared[k]; !touched && !sameValue(after[k], v) {
			t.Fatalf("foreign key %s changed", k)
		}
	}
	again, err := mergeConfig(out, declared, nil)
	if err != nil || !bytes.Equal(out, again) {
		t.Fatalf("not idempotent: %v\n%s\n%s", err, out, again)
	}
}

func FuzzMergeConfig(f *testing.F) {
	for _, s := range []string{"", "# c\n", "a: 1\n", "model: {x: 1}\n", "a: &x [1]\nb: *x\n", "{a: b}", "? a\n: b\n", "model:\n  default: x # c\n"} {
		f.Add([]byte(s))
	}
	declared := map[string]any{"model": map[string]any{"default": "m", "n": int64(3)}, "l": []any{"a"}}
	f.Fuzz(func(t *testing.T, disk []byte) {
		out, err := mergeConfig(disk, declared, [][]string{{"gone"}, {"model", "old"}})
		if err != nil {
			return
		}
		again, err := mergeConfig(out, declared, nil)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("not idempotent: %v\n%q\n%q", err, out, again)
		}
		c, err := ParseConfig(out)
		if err != nil || c.String("model", "default") != "m" {
			t.Fatalf("declared key is not there: %v\n%q", err, out)
		}
	})
}

func TestMergeConfig_LargeFileKeepsComments(t *testing.T) {
	var disk strings.Builder
	for i := range 200 {
		fmt.Fprintf(&disk, "# about %d\nkey%d: value # why %d\n", i, i, i)
	}
	out, err := mergeConfig([]byte(disk.String()), map[string]any{"key100": "new"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(disk.String(), "key100: value", "key100: new", 1); string(out) != want {
		t.Error("a comment or key was lost")
	}
}
