package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxWriteBytes bounds the content of one write_file call.
const maxWriteBytes = 16 << 20

type writeFileArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (s *Set) writeFileTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "write_file",
			Description: "Write a text file, replacing what is there. Missing directories are created.",
			Parameters: object(map[string]any{
				"path":    text("File to write, relative to the workspace or absolute."),
				"content": map[string]any{"type": "string", "description": "The complete new content."},
			}, "path", "content"),
		},
		Toolset:  toolsetFile,
		Approval: ApprovalPerTool,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[writeFileArgs](c)
			if err != nil {
				return Plan{}, err
			}
			// What would be refused anyway is not asked, and the person sees
			// where a link leads.
			p, err := s.sandbox.admit(a.Path, writing)
			return Plan{Summary: fmt.Sprintf("write %d bytes to %s", len(a.Content), oneLine(p.abs()))}, err
		},
		Handler: s.writeFile,
	}
}

func (s *Set) writeFile(_ context.Context, c Call) (Result, error) {
	a, err := decode[writeFileArgs](c)
	if err != nil {
		return Result{}, err
	}
	if len(a.Content) > maxWriteBytes {
		return Result{}, fmt.Errorf("the content has %d bytes, more than the %d one call may write", len(a.Content), maxWriteBytes)
	}
	p, err := s.sandbox.admit(a.Path, writing)
	if err != nil {
		return Result{}, err
	}
	if p.rel == "." {
		return Result{}, fmt.Errorf("%s is a directory", a.Path)
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(p.rel), 0o755); err != nil {
		return Result{}, fmt.Errorf("%s: cannot create its directory: %w", a.Path, plain(err))
	}
	defer s.editing.lock(p.abs())()
	created, err := s.replaceFile(root, p.rel, []byte(a.Content))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", a.Path, plain(err))
	}
	verb := "replaced"
	if created {
		verb = "created"
	}
	return Result{Content: fmt.Sprintf("%s %s, %d bytes", verb, a.Path, len(a.Content))}, nil
}

// replaceFile puts content in place with a rename, keeping the permission bits
// of what was there. renameio would do the same by path; this does it through
// os.Root, so that a directory swapped for a symlink meanwhile cannot lead the
// write outside.
func (s *Set) replaceFile(root *os.Root, rel string, content []byte) (created bool, err error) {
	mode, created := fs.FileMode(0o644), true
	info, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case info.IsDir():
		return false, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return false, errors.New("is not a regular file")
	default:
		mode, created = info.Mode().Perm(), false
	}
	temp := filepath.Join(filepath.Dir(rel), ".hermes-"+rand.Text()+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			_ = root.Remove(temp)
		}
	}()
	_, err = f.Write(content)
	if err == nil && !created {
		// The umask took bits of the mode at creation; here they are known.
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return false, err
	}
	return created, root.Rename(temp, rel)
}
