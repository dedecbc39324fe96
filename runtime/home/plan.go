package home

import (
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
)

type opKind string

const (
	opMkdir  opKind = "mkdir"  // one directory of a tree, or the tree itself when path is "."
	opBackup opKind = "backup" // copy data (or a symlink to data) into backups/
	opWrite  opKind = "write"  // replace a file atomically, mode 0600
	opChmod  opKind = "chmod"  // to 0600
	opRemove opKind = "remove" // a file
	opRmdir  opKind = "rmdir"  // an empty directory we made, or the tree itself when path is "."
	homeTree        = ""       // key of the home among the trees
	fileMode        = fs.FileMode(0o600)
	dirMode         = fs.FileMode(0o700)
)

// op is one change on disk.
type op struct {
	kind opKind
	tree string // homeTree or an absolute directory
	path string // relative to the tree, with '/'
	data []byte
	link bool // opBackup: data is the target of a symlink
	keep bool // opWrite: keep the mode of the file that is there
}

// plan is what a pass would do: nothing is written while it is made.
type plan struct {
	ops       []op
	intent    *record // before the ops
	final     *record // after them
	conflicts []error // what was left alone, and why
}

type planner struct {
	paths Paths
	b     Bundle
	adopt bool
	prior *record
	roots *roots
	plan
}

func newRecord(b Bundle, phase string) *record {
	return &record{Version: BundleVersion, Identity: b.Identity(), Phase: phase, Hash: b.Hash(), Trees: map[string]*recordTree{}}
}

// makePlan compares the bundle, the record and the disk.
func makePlan(paths Paths, b Bundle, adopt bool, prior *record, roots *roots) (*plan, error) {
	p := &planner{paths: paths, b: b, adopt: adopt, prior: prior, roots: roots}
	p.intent, p.final = newRecord(b, phaseApplying), newRecord(b, phaseApplied)

	home := maps.Clone(b.HomeFiles)
	if home == nil {
		home = map[string][]byte{}
	}
	home[envName] = FormatEnv(b.Env) // whole, every time: N-24, N-25; empty rather than absent: NQ-1
	home[managedName] = []byte(ManagedOperator + "\n")
	if err := p.planTree(homeTree, home, LayoutDirs()); err != nil {
		return nil, err
	}
	if err := p.planConfig(); err != nil {
		return nil, err
	}
	if err := p.planDocuments(); err != nil {
		return nil, err
	}
	if len(p.conflicts) > 0 {
		p.final.Hash = "" // the home is not what the bundle says
	}
	return &p.plan, nil
}

func (p *planner) planDocuments() error {
	want := map[string]map[string][]byte{}
	if err := checkDocumentTargets(p.paths, p.b); err != nil {
		p.conflicts = append(p.conflicts, err)
		p.keepTrees()
		return nil
	}
	if p.b.WorkspaceDirectory != "" {
		want[filepath.Clean(p.b.WorkspaceDirectory)] = p.b.Documents
	}
	if p.prior != nil {
		for dir := range p.prior.Trees {
			if _, ok := want[dir]; !ok && dir != homeTree {
				want[dir] = nil
			}
		}
	}
	for _, dir := range sortedKeys(want) {
		if err := p.planTree(dir, want[dir], nil); err != nil {
			return err
		}
	}
	return nil
}

// keepTrees carries the recorded document trees over as they are.
func (p *planner) keepTrees() {
	if p.prior == nil {
		return
	}
	for dir, t := range p.prior.Trees {
		if dir != homeTree {
			p.intent.Trees[dir], p.final.Trees[dir] = t, t
		}
	}
}

// planTree plans the files of one directory, what has to go from it, and its directories.
func (p *planner) planTree(dir string, want map[string][]byte, layout []string) error {
	prior := p.prior.tree(dir)
	intent, final := &recordTree{Files: map[string]recordFile{}}, &recordTree{Files: map[string]recordFile{}}
	declared := dir == homeTree || dir == filepath.Clean(p.b.WorkspaceDirectory) && p.b.WorkspaceDirectory != ""
	exists, err := p.roots.exists(dir)
	if err != nil {
		return err
	}
	made := prior.MadeRoot
	if declared && !exists {
		made = true
		p.ops = append(p.ops, op{kind: opMkdir, tree: dir, path: "."})
	}
	if !declared && !exists {
		return nil // the directory went with all that was in it
	}
	intent.MadeRoot, final.MadeRoot = made, made
	t := &treePlan{planner: p, dir: dir, prior: prior, intent: intent, final: final, gone: map[string]bool{}}
	if err := t.makeDirs(want, layout); err != nil {
		return err
	}
	for _, rel := range sortedKeys(want) {
		if err := t.planFile(rel, want[rel]); err != nil {
			return err
		}
	}
	if err := t.removals(want, layout); err != nil {
		return err
	}
	if !declared && t.wouldBeEmpty(".") && made {
		p.ops = append(p.ops, op{kind: opRmdir, tree: dir, path: "."})
		final.Files, final.Dirs = nil, nil
	}
	p.intent.Trees[dir] = intent
	if declared || len(final.Files)+len(final.Dirs) > 0 || made && !t.gone["."] {
		p.final.Trees[dir] = final
	}
	return nil
}

// treePlan plans within one directory.
type treePlan struct {
	*planner
	dir                  string
	prior, intent, final *recordTree
	gone                 map[string]bool // what the plan removes
}

// makeDirs plans the missing parents and layout directories. Only parents are recorded: layout stays.
func (t *treePlan) makeDirs(want map[string][]byte, layout []string) error {
	t.intent.Dirs = slices.Clone(t.prior.Dirs)
	needed := map[string]bool{}
	for rel := range want {
		for d := path.Dir(rel); d != "."; d = path.Dir(d) {
			needed[d] = true
		}
	}
	for _, d := range layout {
		needed[d] = true
	}
	for _, d := range sortedKeys(needed) { // parents sort before children
		switch state, err := t.look(d); {
		case err != nil:
			return err
		case state.kind == diskAbsent:
			t.ops = append(t.ops, op{kind: opMkdir, tree: t.dir, path: d})
			if !slices.Contains(layout, d) && !slices.Contains(t.intent.Dirs, d) {
				t.intent.Dirs = append(t.intent.Dirs, d)
			}
		}
	}
	for _, d := range t.intent.Dirs {
		if needed[d] {
			t.final.Dirs = append(t.final.Dirs, d)
		}
	}
	slices.Sort(t.intent.Dirs)
	slices.Sort(t.final.Dirs)
	return nil
}

// fileDecision is what to do with one declared file.
type fileDecision string

const (
	keepFile    fileDecision = "keep"
	writeFile   fileDecision = "write"
	backupWrite fileDecision = "backup and write"
	conflict    fileDecision = "conflict"
)

// decideFile says what to do with a declared file and what to record for it after, from what was recorded and what
// is on disk. It is pure. Files a person made are written over only with a backup, when adopting.
func decideFile(prior recordFile, recorded bool, disk diskFile, target string, adopt bool) (do fileDecision, before, after string) {
	intended := recorded && prior.State == stateIntended
	ours := recorded && (prior.State == stateOwned || intended && disk.sha == prior.SHA && disk.kind == diskRegular)
	same := disk.kind == diskRegular && disk.sha == target
	switch {
	case disk.kind == diskAbsent:
		if recorded && prior.State == stateOwned {
			return writeFile, stateOwned, stateOwned
		}
		return writeFile, stateIntended, stateOwned
	case disk.kind == diskBlocked || disk.kind == diskDir:
		return conflict, "", ""
	case ours && same:
		return keepFile, stateOwned, stateOwned
	case ours:
		return writeFile, stateOwned, stateOwned
	case same:
		return keepFile, stateFound, stateFound
	case recorded && prior.State == stateFound:
		return backupWrite, stateFound, stateFound
	case adopt:
		return backupWrite, stateIntended, stateOwned
	default:
		return conflict, "", ""
	}
}

func (t *treePlan) planFile(rel string, data []byte) error {
	disk, err := t.look(rel)
	if err != nil {
		return err
	}
	target := hashOf(data)
	prior, recorded := t.prior.Files[rel]
	do, before, after := decideFile(prior, recorded, disk, target, t.adopt)
	if do == conflict {
		t.conflicts = append(t.conflicts, &ErrFileConflict{Path: filepath.Join(t.abs(), filepath.FromSlash(rel))})
		return nil
	}
	if do == backupWrite {
		t.ops = append(t.ops, op{kind: opBackup, tree: t.dir, path: rel, data: disk.data, link: disk.kind == diskLink})
	}
	if do == writeFile || do == backupWrite {
		t.ops = append(t.ops, op{kind: opWrite, tree: t.dir, path: rel, data: data})
	} else if disk.mode != fileMode && (after == stateOwned || rel == envName && t.dir == homeTree) {
		t.ops = append(t.ops, op{kind: opChmod, tree: t.dir, path: rel})
	}
	t.intent.Files[rel] = recordFile{SHA: target, State: before}
	t.final.Files[rel] = recordFile{SHA: target, State: after}
	return nil
}

// removals plans what is recorded and no longer declared. Content that is not ours is left alone or backed up.
func (t *treePlan) removals(want map[string][]byte, layout []string) error {
	for _, rel := range sortedKeys(t.prior.Files) {
		if _, declared := want[rel]; declared {
			continue
		}
		prior := t.prior.Files[rel]
		t.intent.Files[rel] = prior
		disk, err := t.look(rel)
		if err != nil {
			return err
		}
		edited := disk.sha != prior.SHA
		switch {
		case disk.kind != diskRegular && disk.kind != diskLink, prior.State == stateFound, prior.State == stateIntended && edited:
			continue
		case edited:
			t.ops = append(t.ops, op{kind: opBackup, tree: t.dir, path: rel, data: disk.data, link: disk.kind == diskLink})
		}
		t.ops = append(t.ops, op{kind: opRemove, tree: t.dir, path: rel})
		t.gone[rel] = true
	}
	dirs := slices.Clone(t.prior.Dirs)
	slices.Sort(dirs)
	for _, d := range slices.Backward(dirs) { // children before parents
		if slices.Contains(t.final.Dirs, d) || slices.Contains(layout, d) {
			continue
		}
		disk, err := t.look(d)
		switch {
		case err != nil:
			return err
		case disk.kind != diskDir:
			continue
		case t.wouldBeEmpty(d):
			t.ops = append(t.ops, op{kind: opRmdir, tree: t.dir, path: d})
			t.gone[d] = true
		default:
			t.final.Dirs = append(t.final.Dirs, d) // somebody put something there: try again when it is empty
		}
	}
	slices.Sort(t.final.Dirs)
	return nil
}

// wouldBeEmpty says whether the plan leaves nothing in a directory.
func (t *treePlan) wouldBeEmpty(dir string) bool {
	entries, err := t.roots.readDir(t.dir, dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !t.gone[path.Join(dir, e.Name())] {
			return false
		}
	}
	if dir == "." {
		t.gone["."] = true
	}
	return true
}

func (t *treePlan) abs() string { return t.roots.abs(t.dir) }

func (t *treePlan) look(rel string) (diskFile, error) { return t.roots.look(t.dir, rel) }
