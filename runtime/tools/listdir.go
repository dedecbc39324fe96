package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// maxListed is how many entries are shown, maxScanned how many are read
	// before the listing stops looking for more.
	maxListed  = 500
	maxScanned = 10000
)

type listDirArgs struct {
	Path string `json:"path"`
}

func (s *Set) listDirTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "list_dir",
			Description: fmt.Sprintf("List a directory: names in order, directories with a trailing slash, files with their size. At most %d entries.", maxListed),
			Parameters:  object(map[string]any{"path": text("Directory to list, relative to the workspace or absolute. Default is the workspace.")}),
		},
		Toolset: toolsetFile,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[listDirArgs](c)
			return Plan{Summary: "list " + oneLine(a.Path), ReadOnly: true}, err
		},
		Handler: s.listDir,
	}
}

func (s *Set) listDir(ctx context.Context, c Call) (Result, error) {
	a, err := decode[listDirArgs](c)
	if err != nil {
		return Result{}, err
	}
	if a.Path == "" {
		a.Path = "."
	}
	p, err := s.sandbox.admit(a.Path, reading)
	if err != nil {
		return Result{}, err
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	// O_DIRECTORY refuses files without opening them.
	dir, err := root.OpenFile(p.rel, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOTDIR) {
		return Result{}, fmt.Errorf("%s is not a directory", a.Path)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", a.Path, plain(err))
	}
	defer dir.Close()
	entries, more, err := scanDir(ctx, dir)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", a.Path, plain(err))
	}
	return Result{Content: renderDir(root, p.rel, entries, more, s.outputLimit())}, nil
}

// scanDir reads at most maxScanned entries; more says that there are others.
func scanDir(ctx context.Context, dir *os.File) (entries []fs.DirEntry, more bool, err error) {
	for {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		batch, err := dir.ReadDir(1000)
		entries = append(entries, batch...)
		switch {
		case errors.Is(err, io.EOF):
			return entries, false, nil
		case err != nil:
			return nil, false, err
		case len(entries) > maxScanned:
			return entries[:maxScanned], true, nil
		}
	}
}

func renderDir(root *os.Root, rel string, entries []fs.DirEntry, more bool, limit int) string {
	if len(entries) == 0 {
		return "[the directory is empty]"
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var out strings.Builder
	shown := 0
	for _, e := range entries {
		if shown == maxListed || out.Len() > limit {
			break
		}
		out.WriteString(describeEntry(root, filepath.Join(rel, e.Name()), e))
		out.WriteByte('\n')
		shown++
	}
	if shown < len(entries) || more {
		total := fmt.Sprint(len(entries))
		if more {
			total = "more than " + total
		}
		fmt.Fprintf(&out, "[%d of %s entries shown; use terminal to narrow it down]\n", shown, total)
	}
	return out.String()
}

func describeEntry(root *os.Root, rel string, e fs.DirEntry) string {
	name := oneLine(e.Name())
	switch {
	case e.IsDir():
		return name + "/"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := root.Readlink(rel)
		if err != nil {
			return name + " -> ?"
		}
		return name + " -> " + oneLine(target)
	}
	info, err := e.Info()
	if err != nil {
		return name
	}
	return fmt.Sprintf("%s  %d", name, info.Size())
}
