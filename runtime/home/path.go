package home

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxPathLength, maxSegmentLength = 1024, 200

// runtimeFiles and runtimeDirs are written by the runtime and cannot be declared; compared without case,
// because a home may lie on a file system that ignores it.
var (
	runtimeFiles    = []string{configName, envName, managedName, "auth.json", "profile.yaml", "processes.json", "state.db"}
	runtimeDirs     = []string{profilesDir, "cron", backupsDirName}
	runtimePrefixes = []string{"state.db", "gateway", ".hermes-", "api.sock"}
	runtimeSuffixes = []string{".lock", ".sock"}
)

// CheckHomePath checks a path of spec.homeFiles: relative, clean, inside the home, and not a file that the
// runtime writes itself. The error is an *ErrPathInvalid. Implements N-29 and N-30.
func CheckHomePath(p string) error {
	if err := checkRelative(p, "HERMES_HOME"); err != nil {
		return err
	}
	if isRuntimeOwned(p) {
		return &ErrPathInvalid{Path: p, Problem: "the runtime writes this file itself: use spec.config for config.yaml, spec.env for .env and a Schedule for cron jobs"}
	}
	return nil
}

// CheckDocumentPath checks a path of spec.workspace.documents: relative, clean and inside the directory. Whether
// the directory reaches into a home is known only on the machine and checked there.
func CheckDocumentPath(p string) error {
	if err := checkRelative(p, "spec.workspace.directory"); err != nil {
		return err
	}
	if strings.HasPrefix(strings.ToLower(p), ".hermes-") {
		return &ErrPathInvalid{Path: p, Problem: "names that start with .hermes- are the runtime's: choose another name"}
	}
	return nil
}

func isRuntimeOwned(p string) bool {
	lower := strings.ToLower(p)
	first, _, nested := strings.Cut(lower, "/")
	for _, d := range runtimeDirs {
		if first == d {
			return true
		}
	}
	for _, prefix := range runtimePrefixes {
		if strings.HasPrefix(first, prefix) {
			return true
		}
	}
	for _, suffix := range runtimeSuffixes {
		if strings.HasSuffix(lower, suffix) {
			return true
		}
	}
	for _, f := range runtimeFiles {
		if first == f { // also config.yaml/x: it would need a directory of that name
			return true
		}
	}
	if !nested {
		for _, d := range LayoutDirs() { // a file in place of a layout directory would stop the profile
			if first == d {
				return true
			}
		}
	}
	return false
}

func checkRelative(p, base string) error {
	bad := func(problem string) error { return &ErrPathInvalid{Path: p, Problem: problem} }
	switch {
	case p == "" || p == ".":
		return bad("name a file, relative to " + base)
	case len(p) > maxPathLength:
		return bad("a path has at most 1024 bytes: choose a shorter one")
	case !utf8.ValidString(p):
		return bad("a path is UTF-8 text: choose another one")
	case strings.HasPrefix(p, "/"):
		return bad("a path is relative to " + base + ": remove the leading '/'")
	case strings.ContainsRune(p, '\\'):
		return bad("use '/' between directories, not a backslash")
	case strings.ContainsFunc(p, unicode.IsControl):
		return bad("a path has no control characters: remove them")
	case path.Clean(p) != p:
		return bad("write it without '..', '.', '//' or a trailing '/', as in " + path.Clean("/" + p)[1:])
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == ".." {
			return bad("a path stays inside " + base + ": remove '..'")
		}
		if len(seg) > maxSegmentLength {
			return bad("a name has at most 200 bytes: choose a shorter one")
		}
	}
	return nil
}

// checkTree refuses a file that is also needed as a directory, and two spellings of one name.
func checkTree(files map[string][]byte) error {
	folded := make(map[string]string, len(files))
	for _, p := range sortedKeys(files) {
		lower := strings.ToLower(p)
		if other, ok := folded[lower]; ok {
			return &ErrPathInvalid{Path: p, Problem: "differs from " + other + " only in case: declare one of them"}
		}
		folded[lower] = p
	}
	for _, p := range sortedKeys(files) {
		for dir := path.Dir(strings.ToLower(p)); dir != "."; dir = path.Dir(dir) {
			if other, ok := folded[dir]; ok {
				return &ErrPathInvalid{Path: p, Problem: other + " is declared as a file: it cannot be a directory as well"}
			}
		}
	}
	return nil
}
