package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxPatchBytes is the largest file patch edits.
const maxPatchBytes = 16 << 20

type patchArgs struct {
	Path  string `json:"path"`
	Edits []edit `json:"edits"`
}

func (s *Set) patchTool() Tool {
	return Tool{
		Definition: Definition{
			Name: "patch",
			Description: "Edit a text file: each edit replaces old_text, which must occur exactly once unless replace_all, with new_text. " +
				"Edits apply in order; when one does not fit, nothing is written.",
			Parameters: object(map[string]any{
				"path": text("File to edit, relative to the workspace or absolute."),
				"edits": map[string]any{
					"type": "array", "minItems": 1, "maxItems": 100, "description": "The edits, in order.",
					"items": object(map[string]any{
						"old_text":    text("Text to replace, with enough of its surroundings to be unique."),
						"new_text":    anyText("What stands there afterwards; empty deletes."),
						"replace_all": boolean("Replace every occurrence."),
					}, "old_text", "new_text"),
				},
			}, "path", "edits"),
		},
		Toolset:  toolsetFile,
		Approval: ApprovalPerTool,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[patchArgs](c)
			if err != nil {
				return Plan{}, err
			}
			p, err := s.sandbox.admit(a.Path, writing)
			return Plan{Summary: fmt.Sprintf("edit %s in %d places", oneLine(p.abs()), len(a.Edits))}, err
		},
		Handler: s.patch,
	}
}

func (s *Set) patch(_ context.Context, c Call) (Result, error) {
	a, err := decode[patchArgs](c)
	if err != nil {
		return Result{}, err
	}
	p, err := s.sandbox.admit(a.Path, writing)
	if err != nil {
		return Result{}, err
	}
	defer s.editing.lock(p.abs())()
	before, err := s.readWhole(a.Path, p, maxPatchBytes)
	if err != nil {
		return Result{}, err
	}
	after, done, err := applyEdits(string(before), a.Edits)
	if err != nil {
		return Result{}, fmt.Errorf("%s was not changed: %w", a.Path, err)
	}
	if len(after) > maxPatchBytes {
		return Result{}, fmt.Errorf("%s was not changed: it would have %d bytes, more than the %d patch writes", a.Path, len(after), maxPatchBytes)
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	if _, err := s.replaceFile(root, p.rel, []byte(after)); err != nil {
		return Result{}, fmt.Errorf("%s: %w", a.Path, plain(err))
	}
	return Result{Content: describeEdits(filepath.Clean(a.Path), done)}, nil
}

// readWhole reads a text file of at most most bytes.
func (s *Set) readWhole(path string, p place, most int64) ([]byte, error) {
	f, info, err := s.openRegular(path, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that are looked into", path, info.Size(), most)
	}
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	case int64(len(content)) > most:
		return nil, fmt.Errorf("%s grew while it was read; try again", path)
	case binary(content[:min(len(content), sniffBytes)]):
		return nil, fmt.Errorf("%s is a binary file of %d bytes; use terminal to change it", path, len(content))
	}
	return content, nil
}

func describeEdits(path string, done []applied) string {
	var out strings.Builder
	fmt.Fprintf(&out, "patched %s:\n", path)
	for i, d := range done {
		fmt.Fprintf(&out, "edit %d: ", i+1)
		if d.count > 1 {
			fmt.Fprintf(&out, "%d places, the first at line %d", d.count, d.line)
		} else {
			fmt.Fprintf(&out, "line %d", d.line)
		}
		if d.loose {
			out.WriteString(" (matched without regard to white space; read the place again before editing near it)")
		}
		out.WriteByte('\n')
	}
	return out.String()
}

var errNoChange = errors.New("the edits change nothing")
