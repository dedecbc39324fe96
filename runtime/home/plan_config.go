package home

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// planConfig plans config.yaml: a real file that the runtime also writes, so declared keys are merged into what is
// there and the rest stays. Through a symlink its target is written (N-21).
func (p *planner) planConfig() error {
	var declared [][]string
	for _, l := range leaves(p.b.Config, nil) {
		declared = append(declared, l.path)
	}
	var before [][]string
	var prior recordFile
	var sealed string
	if p.prior != nil {
		before, prior, sealed = p.prior.ConfigKeys, p.prior.Config, p.prior.ConfigSeal
	}
	d, err := p.b.Declaration()
	if err != nil {
		return err
	}
	// A pass that is killed between file and record leaves no seal that fits: refused until the next pass.
	p.intent.ConfigKeys = unionPaths(before, declared)
	p.final.ConfigKeys, p.final.ConfigSeal = declared, seal(d.keys)

	file := p.paths.Config()
	leaveAlone := func(err error) error {
		p.conflicts = append(p.conflicts, err)
		p.intent.ConfigKeys, p.final.ConfigKeys = before, before
		p.intent.ConfigSeal, p.final.ConfigSeal = sealed, sealed
		p.intent.Config, p.final.Config = prior, prior
		return nil
	}
	fi, err := os.Lstat(file)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	link := exists && fi.Mode()&fs.ModeSymlink != 0
	if link {
		if file, err = filepath.EvalSymlinks(file); err != nil {
			return leaveAlone(&ErrConfigUnreadable{Path: p.paths.Config(), Err: errors.New("it is a symbolic link that leads nowhere")})
		}
	}
	var onDisk []byte
	if exists {
		if onDisk, err = os.ReadFile(file); err != nil {
			return leaveAlone(&ErrConfigUnreadable{Path: file, Err: err})
		}
	}
	merged, err := mergeConfig(onDisk, p.b.Config, before)
	if err != nil {
		return leaveAlone(&ErrConfigUnreadable{Path: file, Err: err})
	}
	changed := !exists || !bytes.Equal(merged, onDisk)
	foreign := exists && prior.State != stateOwned && prior.SHA != hashOf(onDisk)
	if foreign && changed && !p.adopt {
		return leaveAlone(&ErrFileConflict{Path: p.paths.Config()})
	}
	if foreign && changed {
		p.ops = append(p.ops, op{kind: opBackup, tree: homeTree, path: configName, data: onDisk})
	}
	p.intent.Config = recordFile{SHA: hashOf(merged), State: stateIntended}
	if prior.State == stateOwned || !foreign && exists {
		p.intent.Config.State = stateOwned
	}
	p.final.Config = recordFile{State: stateOwned} // its content is the runtime's as well: no digest
	tree := homeTree
	if link {
		tree = filepath.Dir(file)
	}
	switch {
	case changed:
		p.ops = append(p.ops, op{kind: opWrite, tree: tree, path: filepath.Base(file), data: merged, keep: link})
	case !link && fi.Mode().Perm() != fileMode:
		p.ops = append(p.ops, op{kind: opChmod, tree: homeTree, path: configName})
	}
	return nil
}

func unionPaths(a, b [][]string) [][]string {
	out := slices.Clone(a)
	for _, path := range b {
		if !slices.ContainsFunc(a, func(other []string) bool { return slices.Equal(other, path) }) {
			out = append(out, path)
		}
	}
	return out
}

// checkDocumentTargets refuses documents that would land in another profile's home, or on a file of this home that
// the runtime or homeFiles writes. Only on the machine is it known where the directory leads.
func checkDocumentTargets(paths Paths, b Bundle) error {
	dir := realPath(b.WorkspaceDirectory)
	root, own := realPath(paths.Root), realPath(paths.Home)
	for _, doc := range sortedKeys(b.Documents) {
		target := filepath.Join(dir, filepath.FromSlash(doc))
		if _, inside := below(root, target); !inside {
			if _, inside = below(own, target); !inside {
				continue
			}
		}
		rel, inside := below(own, target)
		if !inside {
			return &ErrPathInvalid{Path: doc, Problem: "spec.workspace.directory leads into another profile's home: choose another directory"}
		}
		if err := CheckHomePath(rel); err != nil {
			return &ErrPathInvalid{Path: doc, Problem: "in spec.workspace.directory it is the runtime's own file: choose another directory"}
		}
		if _, twice := b.HomeFiles[rel]; twice {
			return &ErrPathInvalid{Path: doc, Problem: "spec.homeFiles declares the same file: remove one of them"}
		}
	}
	return nil
}

func below(dir, target string) (string, bool) {
	rel, err := filepath.Rel(dir, target)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// realPath resolves the symlinks of the part of a path that exists.
func realPath(path string) string {
	path = filepath.Clean(path)
	for dir, rest := path, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return path
		}
		dir, rest = parent, filepath.Join(filepath.Base(dir), rest)
	}
}
