package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Options of Materialise.
type Options struct {
	// Now names the backups.
	Now time.Time
	// AdoptExisting lets files that a person made be written over, after a copy into backups/ (NQ-2).
	AdoptExisting bool
	// Log gets one line for what a person may want to know.
	Log logr.Logger

	// hook is called before each change on disk; a test stops the process there.
	hook func(step string)
}

// Result is what a pass did.
type Result struct {
	// Paths of the home.
	Paths Paths
	// Hash of the bundle.
	Hash string
	// Changed is false when the disk already held the bundle and nothing was written.
	Changed bool
	// Written, Removed and BackedUp are absolute paths of files.
	Written, Removed, BackedUp []string
}

// Materialise writes the bundle's home below root. A second pass over the same bundle writes nothing. A pass that
// is killed anywhere is completed by the next. Files that a person made are left alone and reported as
// *ErrFileConflict after everything else, so that a revoked secret is gone even while one file is in the way;
// in a directory that holds somebody's unmanaged home nothing is written at all unless AdoptExisting.
// Other typed errors: *ErrHomeInUse, *ErrPathInvalid, *ErrConfigUnreadable. The caller holds the home's host lock.
// Implements N-19 to N-21, N-24, N-25, N-27 to N-30, N-33.
func Materialise(ctx context.Context, root string, b Bundle, o Options) (Result, error) {
	if err := b.check(); err != nil {
		return Result{}, err
	}
	paths, err := ForProfile(root, b.Profile)
	if err != nil {
		return Result{}, err
	}
	result := Result{Paths: paths, Hash: b.Hash()}
	prior, err := readRecord(paths.Home)
	if err != nil {
		return result, fmt.Errorf("write home: %w", err)
	}
	if !prior.mayOwn(b.Identity()) {
		return result, &ErrHomeInUse{Home: paths.Home, Owner: prior.Identity}
	}
	if prior != nil && prior.Identity.UID != b.UID {
		o.Log.Info("home taken over from an earlier Profile of this name", "home", paths.Home, "earlierUID", prior.Identity.UID)
	}
	roots := newRoots(paths.Home)
	defer roots.close()
	p, err := makePlan(paths, b, o.AdoptExisting, prior, roots)
	if err != nil {
		return result, fmt.Errorf("write home: %w", err)
	}
	if prior == nil && !o.AdoptExisting {
		if err := foreignHome(paths, p.conflicts); err != nil {
			return result, err
		}
	}
	a := &applier{ctx: ctx, paths: paths, roots: roots, o: o, result: &result}
	if err := a.run(p, prior); err != nil {
		return result, fmt.Errorf("write home: %w", err)
	}
	return result, errors.Join(p.conflicts...)
}

// foreignHome is the conflict that makes a directory without a record somebody else's home.
func foreignHome(paths Paths, conflicts []error) error {
	for _, err := range conflicts {
		var c *ErrFileConflict
		var unreadable *ErrConfigUnreadable
		switch {
		case errors.As(err, &unreadable):
			return err
		case errors.As(err, &c) && (c.Path == paths.Config() || c.Path == paths.Env() || c.Path == filepath.Join(paths.Home, managedName)):
			return err
		}
	}
	return nil
}

func (a *applier) run(p *plan, prior *record) error {
	if err := a.sweep(prior); err != nil {
		return err
	}
	final := p.final.encode()
	if len(p.ops) == 0 && prior != nil && bytes.Equal(prior.encode(), final) {
		return nil
	}
	a.result.Changed = true
	if len(p.ops) > 0 {
		// The home itself has to be there before intent can be written into it.
		if p.ops[0].kind == opMkdir && p.ops[0].tree == homeTree && p.ops[0].path == "." {
			if err := a.do(p.ops[0]); err != nil {
				return err
			}
			p.ops = p.ops[1:]
		}
		if err := a.write(homeTree, recordName, p.intent.encode(), false); err != nil {
			return err
		}
	}
	for _, op := range p.ops {
		if err := a.do(op); err != nil {
			return err
		}
	}
	return a.write(homeTree, recordName, final, false)
}

// sweep removes the temporary files that a killed pass left behind.
func (a *applier) sweep(prior *record) error {
	bases := map[string][]string{homeTree: {recordName}}
	if prior != nil && prior.Phase == phaseApplying {
		for dir, t := range prior.Trees {
			for rel := range t.Files {
				bases[dir] = append(bases[dir], filepath.Base(rel))
			}
		}
		bases[homeTree] = append(bases[homeTree], configName)
		if target, err := filepath.EvalSymlinks(a.paths.Config()); err == nil && filepath.Dir(target) != a.paths.Home {
			bases[filepath.Dir(target)] = append(bases[filepath.Dir(target)], filepath.Base(target))
		}
		bases[a.paths.Backups()] = nil // every name there is ours
	}
	for dir, names := range bases {
		entries, err := a.roots.readDir(dir, ".")
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Type().IsRegular() && isTemporary(e.Name(), names) {
				if err := a.do(op{kind: opRemove, tree: dir, path: e.Name()}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// temporary is the end of the names renameio gives: a dot, the target's name, a random number.
var temporary = regexp.MustCompile(`^[0-9]{10,19}$`)

// isTemporary says whether name is a temporary of one of the bases; no bases means of anything.
func isTemporary(name string, bases []string) bool {
	if len(bases) == 0 {
		digits := strings.TrimLeft(name, ".")
		digits = digits[len(strings.TrimRight(digits, "0123456789")):]
		return strings.HasPrefix(name, ".") && len(digits) >= 10
	}
	for _, base := range bases {
		if rest, ok := strings.CutPrefix(name, "."+base); ok && temporary.MatchString(rest) {
			return true
		}
	}
	return false
}
