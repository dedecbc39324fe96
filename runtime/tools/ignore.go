package tools

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"

	ignore "github.com/sabhiram/go-gitignore"
)

// maxIgnoreFile bounds one .gitignore, in bytes.
const maxIgnoreFile = 256 << 10

// ignoreRules are the .gitignore files from a root down to where a walk is. A deeper file overrides a higher one.
type ignoreRules struct {
	open func(rel string) (*os.File, error)
	// dirs with a .gitignore of their own: their rules after those of the directories above.
	dirs map[string]dirRules
}

// dirRules are patterns relative to the root, and what they compile to.
type dirRules struct {
	lines    []string
	compiled *ignore.GitIgnore
}

// newIgnoreRules reads the rules of every directory above start. Rules that leave start itself out do not count:
// somebody has asked for it.
func newIgnoreRules(open func(rel string) (*os.File, error), start string) *ignoreRules {
	r := &ignoreRules{open: open, dirs: map[string]dirRules{}}
	if start == "." {
		return r
	}
	for _, dir := range ancestors(start) {
		r.enter(dir)
	}
	if r.ignored(start, true) {
		clear(r.dirs)
	}
	return r
}

// enter reads the rules of one directory. A file that cannot be read has none: leaving it out shows more, never less.
func (r *ignoreRules) enter(dir string) {
	f, err := r.open(path.Join(dir, ".gitignore"))
	if err != nil {
		return
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return
	}
	lines := slices.Clone(r.above(dir).lines)
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line = rebase(dir, strings.TrimRight(line, "\r")); line != "" {
			lines = append(lines, line)
		}
	}
	r.dirs[dir] = dirRules{lines: lines, compiled: ignore.CompileIgnoreLines(lines...)}
}

// rebase makes a pattern of one directory a pattern of the root. A pattern without a slash but at its end holds at
// every depth.
func rebase(dir, line string) string {
	if line == "" || line[0] == '#' || strings.TrimSpace(line) == "" {
		return ""
	}
	not := ""
	if line[0] == '!' {
		not, line = "!", line[1:]
	}
	if dir == "." {
		return not + line
	}
	if !strings.Contains(strings.TrimRight(line, "/"), "/") {
		return not + "/" + dir + "/**/" + line
	}
	return not + "/" + dir + "/" + strings.TrimPrefix(line, "/")
}

// above are the rules that hold in a path's directory.
func (r *ignoreRules) above(rel string) dirRules {
	for _, dir := range slices.Backward(ancestors(rel)) {
		if rules, ok := r.dirs[dir]; ok {
			return rules
		}
	}
	return dirRules{}
}

// ignored reports whether a path below the root is left out. Directories of version control always are.
func (r *ignoreRules) ignored(rel string, dir bool) bool {
	if dir && slices.Contains([]string{".git", ".hg", ".svn", ".jj"}, path.Base(rel)) {
		return true
	}
	rules := r.above(rel)
	if rules.compiled == nil {
		return false
	}
	if dir {
		rel += "/"
	}
	return rules.compiled.MatchesPath(rel)
}

// ancestors lists the directories above a relative path, the highest first. The root has none.
func ancestors(rel string) []string {
	if rel == "." {
		return nil
	}
	out := []string{"."}
	for i, c := range rel {
		if c == '/' {
			out = append(out, rel[:i])
		}
	}
	return out
}
