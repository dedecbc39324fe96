package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestApplyEdits(t *testing.T) {
	const code = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 2\n}\n"
	tests := []struct {
		name, text string
		edits      []edit
		want, err  string
	}{
		{"one place", "a b c", []edit{{Old: "b", New: "x"}}, "a x c", ""},
		{"two edits in order", "a b", []edit{{Old: "a", New: "b2"}, {Old: "b2 b", New: "c"}}, "c", ""},
		{"deletion", "a b c", []edit{{Old: " b"}}, "a c", ""},
		{"not unique", code, []edit{{Old: "return", New: "x"}}, "", "edit 1: old_text occurs 2 times, first at lines 2, 6"},
		{"overlapping is not unique", "aaa", []edit{{Old: "aa", New: "x"}}, "", "occurs 2 times"},
		{"every place", code, []edit{{Old: "return", New: "yield", All: true}}, strings.ReplaceAll(code, "return", "yield"), ""},
		{"missing", code, []edit{{Old: "return 3", New: "x"}}, "", "does not occur"},
		{"missing names a line", code, []edit{{Old: "func  b() {\n\tnothing", New: "x"}}, "", "first line is like line 5"},
		{"second edit fails", "a b", []edit{{Old: "a", New: "x"}, {Old: "q", New: "y"}}, "", "edit 2: old_text does not occur"},
		{"empty old", "a", []edit{{New: "x"}}, "", "write_file"},
		{"no change", "a", []edit{{Old: "a", New: "a"}}, "", "change nothing"},
		{"trailing space", "x  \ny\n", []edit{{Old: "x\ny", New: "z"}}, "z\n", ""},
		{"other indentation", code, []edit{{Old: "func a() {\n    return 1\n}", New: "func a() {\n    return 9\n}"}}, strings.Replace(code, "return 1", "return 9", 1), "skip"},
		{"indentation of the place", "if x {\n\t\tone()\n\t\ttwo()\n}\n", []edit{{Old: "    one()\n    two()", New: "    one()\n    if y {\n        three()\n    }"}}, "if x {\n\t\tone()\n\t\tif y {\n\t\t    three()\n\t\t}\n}\n", ""},
		{"loose and not unique", " a\n  a\n", []edit{{Old: "a  ", New: "x"}}, "", "2 places match it when white space is ignored"},
		{"loose never matches blank", "\n\n\n", []edit{{Old: "  ", New: "x"}}, "", "does not occur"},
		{"CRLF kept", "a\r\nb\r\nc\r\n", []edit{{Old: "a\nb", New: "x\ny\nz"}}, "x\r\ny\r\nz\r\nc\r\n", ""},
		{"CRLF written by the model", "a\r\nb\r\n", []edit{{Old: "a\r\nb", New: "x\r\ny"}}, "x\r\ny\r\n", ""},
		{"LF kept", "a\nb\n", []edit{{Old: "a\r\nb", New: "x\r\ny"}}, "x\ny\n", ""},
		{"mixed endings stay", "a\r\nb\nc\r\n", []edit{{Old: "b", New: "x"}}, "a\r\nx\nc\r\n", ""},
		{"lone CR stays", "a\rb\r\nc", []edit{{Old: "c", New: "x"}}, "a\rb\r\nx", ""},
		{"BOM stays", "\ufeffa\n", []edit{{Old: "a", New: "x"}}, "\ufeffx\n", ""},
		{"no newline at the end stays", "a\nb", []edit{{Old: "b", New: "x"}}, "a\nx", ""},
		{"bytes that are no text stay", "\xff a \xfe", []edit{{Old: "a", New: "x"}}, "\xff x \xfe", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := applyEdits(tt.text, tt.edits)
			switch {
			case tt.err == "skip":
				if err != nil || !strings.Contains(got, "return 9") {
					t.Errorf("applyEdits = %q, %v", got, err)
				}
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) || got != tt.text {
					t.Errorf("applyEdits = %q, %v, want %q and no change", got, err, tt.err)
				}
			case err != nil || got != tt.want:
				t.Errorf("applyEdits = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// Whatever the edits, an error changes nothing, an exact single match is a plain replacement, and line endings stay.
func FuzzApplyEdits(f *testing.F) {
	f.Add("a b c", "b", "x", false)
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", false)
	f.Add("  a\n\tb\n", "a\nb", "x", true)
	f.Add("aaa", "aa", "a", true)
	f.Fuzz(func(t *testing.T, text, old, replacement string, all bool) {
		got, done, err := applyEdits(text, []edit{{Old: old, New: replacement, All: all}})
		if err != nil {
			if got != text || done != nil {
				t.Fatalf("error %v changed %q to %q", err, text, got)
			}
			return
		}
		if len(done) != 1 || done[0].line < 1 || done[0].count < 1 {
			t.Fatalf("applied %+v", done)
		}
		if !strings.Contains(text+old+replacement, "\r") && done[0].count == 1 && !done[0].loose && got != strings.Replace(text, old, replacement, 1) {
			t.Fatalf("%q with %q for %q = %q", text, replacement, old, got)
		}
		if onlyCRLF(text) && strings.Count(strings.ReplaceAll(got, "\r\n", ""), "\n") > 0 {
			t.Fatalf("line endings of %q changed: %q", text, got)
		}
	})
}

func edits(pairs ...string) []map[string]any {
	var out []map[string]any
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, map[string]any{"old_text": pairs[i], "new_text": pairs[i+1]})
	}
	return out
}

func TestPatch(t *testing.T) {
	s, w, _, outside := escapeSet(t)
	file := filepath.Join(w, "run.sh")
	writeTree(t, w, map[string]string{"run.sh": "#!/bin/sh\necho one\n", "bin": "a\x00b"})
	chmod(t, file, 0o755)
	got := must(t, s, "patch", map[string]any{"path": "run.sh", "edits": edits("one", "two")})
	if readBack(t, file) != "#!/bin/sh\necho two\n" || !strings.Contains(got, "line 2") {
		t.Errorf("%q, file %q", got, readBack(t, file))
	}
	if modeOf(t, file) != 0o755 {
		t.Errorf("mode = %o", modeOf(t, file))
	}
	refused(t, s, "patch", map[string]any{"path": "run.sh", "edits": edits("two", "x", "three", "y")}, "run.sh was not changed: edit 2")
	if readBack(t, file) != "#!/bin/sh\necho two\n" {
		t.Error("a refused patch wrote")
	}
	refused(t, s, "patch", map[string]any{"path": "bin", "edits": edits("a", "x")}, "binary file")
	refused(t, s, "patch", map[string]any{"path": "none", "edits": edits("a", "x")}, "no such file")
	symlink(t, filepath.Join(outside, "secret"), filepath.Join(w, "leaf"))
	refused(t, s, "patch", map[string]any{"path": "leaf", "edits": edits("do", "x")}, "outside")
	refused(t, s, "patch", map[string]any{"path": s.sandbox.home + "/config.yaml", "edits": edits("do", "x")}, "decides what this agent may do")
	// A link within the roots is followed, and stays a link.
	symlink(t, "run.sh", filepath.Join(w, "link"))
	must(t, s, "patch", map[string]any{"path": "link", "edits": edits("two", "three")})
	if readBack(t, file) != "#!/bin/sh\necho three\n" || !isLink(t, filepath.Join(w, "link")) {
		t.Error("a link inside must lead to its target and stay")
	}
}

// Edits of one file that run side by side all take effect.
func TestPatchesSideBySide(t *testing.T) {
	s := newTestSet(t, nil)
	var lines strings.Builder
	for i := range 20 {
		fmt.Fprintf(&lines, "line%02d\n", i)
	}
	writeTree(t, s.sandbox.roots[0], map[string]string{"f": lines.String()})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			must(t, s, "patch", map[string]any{"path": "f", "edits": edits(fmt.Sprintf("line%02d", i), fmt.Sprintf("done%02d", i))})
		})
	}
	wg.Wait()
	if got := readBack(t, s.sandbox.roots[0]+"/f"); strings.Contains(got, "line") {
		t.Errorf("an edit was lost:\n%s", got)
	}
	if len(s.editing.paths) != 0 {
		t.Error("path locks remain")
	}
}
