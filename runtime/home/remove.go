package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// rootFiles are the profile's own files at a root, beside what is recorded. A root is shared: other profiles live in
// profiles/, the gateway keeps its identity there, and an adopted one may hold anything. So only these go.
var rootFiles = []string{configName, envName, soulName, managedName, "auth.json", "profile.yaml", "processes.json",
	"state.db", "state.db-wal", "state.db-shm"}

// rootDirs are the profile's own directories at a root.
var rootDirs = append(LayoutDirs(), "checkpoints", "state-snapshots", backupsDirName, "mcp-tokens", "cache")

// Remove deletes the home of a profile whose deletionPolicy is Delete. It refuses with *ErrNotManaged what has no
// record of ours and with *ErrHomeInUse what belongs to another Profile. A home that is gone already is done. Of
// the default profile's home only its own files go, never profiles/ and never the gateway's files. The record goes
// last, so that a removal that was killed can be repeated. The store has to be closed.
func Remove(ctx context.Context, root string, id Identity) error {
	paths, prior, err := owned(root, id)
	if err != nil || prior == nil {
		return err
	}
	if err := removeDocuments(ctx, paths, prior); err != nil {
		return fmt.Errorf("remove home: %w", err)
	}
	home, err := os.OpenRoot(paths.Home)
	if err != nil {
		return fmt.Errorf("remove home: %w", err)
	}
	defer func() { _ = home.Close() }()
	names, err := removable(paths, prior, home)
	if err != nil {
		return fmt.Errorf("remove home: %w", err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := home.RemoveAll(name); err != nil {
			return fmt.Errorf("remove home: %w", err)
		}
	}
	if err := home.Remove(recordName); err != nil {
		return fmt.Errorf("remove home: %w", err)
	}
	if paths.Name == DefaultProfile {
		return nil
	}
	return os.Remove(paths.Home) // a symlink to a home goes, its empty target stays
}

// owned reads the record of the identity's home. Without a home there is neither record nor error.
func owned(root string, id Identity) (Paths, *record, error) {
	paths, err := ForProfile(root, id.Profile)
	if err != nil {
		return paths, nil, err
	}
	if _, err := os.Stat(paths.Home); errors.Is(err, fs.ErrNotExist) {
		return paths, nil, nil
	}
	prior, err := readRecord(paths.Home)
	if err != nil {
		return paths, nil, err
	}
	if prior == nil {
		in, err := Inspect(paths.Home)
		if err != nil {
			return paths, nil, err
		}
		if in.Ownership == HomeAbsent && isEmptyOfProfile(paths) {
			return paths, nil, nil // removed before, or never written
		}
		return paths, nil, &ErrNotManaged{Home: paths.Home}
	}
	if !prior.mayOwn(id) {
		return paths, nil, &ErrHomeInUse{Home: paths.Home, Owner: prior.Identity}
	}
	return paths, prior, nil
}

// isEmptyOfProfile says whether nothing of a profile is left: any root without identity files, or an empty directory.
func isEmptyOfProfile(paths Paths) bool {
	if paths.Name == DefaultProfile {
		return true
	}
	entries, err := os.ReadDir(paths.Home)
	return err == nil && len(entries) == 0 && os.Remove(paths.Home) == nil
}

// removable names what goes from a home, the record excepted.
func removable(paths Paths, prior *record, home *os.Root) ([]string, error) {
	if paths.Name != DefaultProfile {
		entries, err := fs.ReadDir(home.FS(), ".")
		if err != nil {
			return nil, err
		}
		var names []string
		for _, e := range entries {
			if e.Name() != recordName {
				names = append(names, e.Name())
			}
		}
		return names, nil
	}
	names := slices.Concat(rootFiles, rootDirs)
	for _, kept := range []string{"state.db.before-restore-*", ".hermes-restore*"} { // copies of the store that a restore made
		found, err := fs.Glob(home.FS(), kept)
		if err != nil {
			return nil, err
		}
		names = append(names, found...)
	}
	t := prior.tree(homeTree)
	for _, rel := range sortedKeys(t.Files) {
		if t.Files[rel].State == stateOwned {
			names = append(names, filepath.FromSlash(rel))
		}
	}
	dirs := slices.Clone(t.Dirs)
	slices.Sort(dirs)
	for _, d := range slices.Backward(dirs) { // children first; one that a person uses stays
		if entries, err := fs.ReadDir(home.FS(), d); err == nil && onlyOwned(d, entries, t) {
			names = append(names, filepath.FromSlash(d))
		}
	}
	return names, nil
}

// onlyOwned says whether a directory holds nothing but what the record owns.
func onlyOwned(dir string, entries []fs.DirEntry, t *recordTree) bool {
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		rel := dir + "/" + e.Name()
		if e.IsDir() {
			return !slices.Contains(t.Dirs, rel)
		}
		return t.Files[rel].State != stateOwned
	})
}

// removeDocuments takes our documents out of the working directories. Those a person changed since stay.
func removeDocuments(ctx context.Context, paths Paths, prior *record) error {
	roots := newRoots(paths.Home)
	defer roots.close()
	for _, dir := range sortedKeys(prior.Trees) {
		if dir == homeTree {
			continue
		}
		p := &planner{paths: paths, prior: prior, roots: roots}
		p.intent, p.final = newRecord(Bundle{}, phaseApplying), newRecord(Bundle{}, phaseApplied)
		if err := p.planTree(dir, nil, nil); err != nil {
			return err
		}
		a := &applier{ctx: ctx, paths: paths, roots: roots, result: &Result{}}
		edited := map[string]bool{}
		for _, op := range p.ops {
			if op.kind == opBackup { // there will be no backups/ any more: a person's version stays where it is
				edited[op.path] = true
				continue
			}
			if edited[op.path] {
				continue
			}
			if err := a.do(op); err != nil {
				return err
			}
		}
	}
	return nil
}

// Release leaves a home behind: every file stays, and a Profile of the same namespace and name may take it over
// later, on any Gateway. It is what deletionPolicy Retain means for the disk. Errors as for Remove.
func Release(ctx context.Context, root string, id Identity) error {
	paths, prior, err := owned(root, id)
	if err != nil || prior == nil || prior.Released {
		return err
	}
	roots := newRoots(paths.Home)
	defer roots.close()
	prior.Released = true
	a := &applier{ctx: ctx, paths: paths, roots: roots, result: &Result{}}
	if err := a.write(homeTree, recordName, prior.encode(), false); err != nil {
		return fmt.Errorf("release home: %w", err)
	}
	return nil
}
