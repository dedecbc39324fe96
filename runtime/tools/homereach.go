package tools

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// assumption stands for what a command computes before it uses it: a variable nobody has set, the output of another
// command. It is taken for the home, and for nothing.
const assumption = "\uE000"

// simpleCommand is one command of a script: its words, what its redirections name, and the text of its here documents.
type simpleCommand struct {
	argv, reads, writes []string
	text                string
}

// homeReach says what protected file of the home, or of whoever lives beside it, a command names, or "". A command runs
// as the user of the gateway, who may read all of them; this is what keeps an earlier answer from covering it. Words
// are resolved as the command's shell would, patterns against what lies in the home; a variable nobody has set and the
// output of another command may be the home. What a program computes is not seen.
func (b *sandbox) homeReach(command string, environ []string) string {
	vars := map[string]string{"IFS": " \t\n"}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	r := &shellReader{vars: vars, assumed: assumption}
	r.script(command)
	w := reachWalk{sandbox: b, at: []string{b.roots[0]}, feeds: slices.ContainsFunc(r.seen, func(c simpleCommand) bool { return c.program("xargs", "parallel", "cpio", "read") })}
	for _, c := range r.seen {
		if why := w.command(c); why != "" {
			return why
		}
	}
	return ""
}

func (c simpleCommand) program(names ...string) bool {
	return slices.ContainsFunc(c.argv, func(word string) bool { return slices.Contains(names, path.Base(word)) })
}

type reachWalk struct {
	*sandbox
	// at are the directories that commands may be in by now: one that was left may be entered again.
	at []string
	// feeds says that names which one command prints may be opened by another.
	feeds bool
}

var (
	// walkers read what lies below the directories they are given; the others do when a flag says so.
	walkers     = []string{"rg", "ag", "ack", "ugrep", "tar", "bsdtar", "rsync", "zip", "7z", "pax", "cpio", "mv", "ln"}
	flagWalkers = []string{"grep", "egrep", "fgrep", "zgrep", "cp", "scp", "diff"}
	walkFlag    = regexp.MustCompile(`^(-[a-zA-Z]*[rRa][a-zA-Z]*|--(dereference-)?recursive|--archive)$`)
	deleteFlag  = regexp.MustCompile(`^(-[a-zA-Z]*[rR][a-zA-Z]*|--recursive)$`)
	findAction  = regexp.MustCompile(`^-(exec|execdir|ok|okdir|delete|fprint\w*|x|X|-exec|-exec-batch)$`)
	// readers only look at what they are given, so that files which only must not be changed are no matter.
	readers = []string{"cat", "less", "more", "head", "tail", "grep", "egrep", "fgrep", "rg", "ls", "stat", "wc", "diff", "cmp", "jq", "yq", "file", "test", "[", "echo", "printf", "cd", "pushd", "find", "fd", "du", "sort", "sha256sum", "md5sum"}
)

// walks reports whether a command reads below the directories it is given.
func (c simpleCommand) walks() bool {
	switch {
	case c.program(walkers...):
		return true
	case c.program("find", "fd"):
		return slices.ContainsFunc(c.argv, findAction.MatchString)
	}
	return c.program(flagWalkers...) && slices.ContainsFunc(c.argv, walkFlag.MatchString)
}

func (w *reachWalk) command(c simpleCommand) string {
	access := writing
	if len(c.argv) > 0 && slices.Contains(readers, path.Base(c.argv[0])) || len(c.argv) == 0 {
		access = reading
	}
	at := w.at
	for i, word := range c.argv[:max(0, len(c.argv)-1)] {
		if slices.Contains([]string{"-C", "--directory", "--chdir", "--cwd"}, word) {
			at = append(slices.Clone(at), w.places(c.argv[i+1])...)
		}
	}
	here := reachWalk{sandbox: w.sandbox, at: at, feeds: w.feeds}
	if why := here.names(c, access); why != "" {
		return why
	}
	if c.program("rm") && slices.ContainsFunc(c.argv, deleteFlag.MatchString) {
		if why := here.deletes(c); why != "" {
			return why
		}
	}
	if c.walks() || w.feeds {
		if why := here.walkFrom(c); why != "" {
			return why
		}
	}
	if c.program("cd", "pushd") {
		for _, word := range c.argv[1:] {
			w.at = append(w.at, w.places(word)...)
		}
		slices.Sort(w.at)
		w.at = slices.Compact(w.at)
	}
	return ""
}

// names looks for protected files among the words.
func (w *reachWalk) names(c simpleCommand, a access) string {
	find := func(word string, a access) string {
		for _, text := range pathsIn(word) {
			for _, p := range w.places(text) {
				if why := w.closed(p, a); why != "" {
					return reasonSecrets + ": " + shown(text) + " " + why
				}
			}
		}
		return ""
	}
	for _, words := range []struct {
		list   []string
		access access
	}{{c.argv, a}, {c.reads, reading}, {c.writes, writing}, {[]string{c.text}, a}} {
		for _, word := range words.list {
			if why := find(word, words.access); why != "" {
				return why
			}
		}
	}
	return ""
}

// deletes judges the operands of a recursive rm: only what lies below the workspace, or a root that was declared, may go
// unseen.
func (w *reachWalk) deletes(c simpleCommand) string {
	for _, word := range c.argv[1:] {
		if strings.HasPrefix(word, "-") || path.Base(word) == "rm" {
			continue
		}
		for _, p := range w.places(word) {
			if in, err := w.within(p); err != nil || in.rel == "." {
				return reasonOutside + ": " + shown(word)
			}
		}
	}
	return ""
}

// walkFrom looks for directories with the home in them.
func (w *reachWalk) walkFrom(c simpleCommand) string {
	var operands []string
	for _, word := range c.argv[min(1, len(c.argv)):] {
		if !strings.HasPrefix(word, "-") {
			operands = append(operands, word)
		}
	}
	if len(operands) < 2 && c.walks() {
		operands = append(operands, ".") // where such programs begin when nothing else is said
	}
	for _, word := range operands {
		for _, p := range w.places(word) {
			if word != assumption && w.holdsHome(p) {
				return reasonThrough + ": " + shown(word)
			}
		}
	}
	return ""
}

// holdsHome reports whether a path, which may be a pattern, is the home or a directory above it.
func (b *sandbox) holdsHome(abs string) bool {
	parts, home := components(abs), components(b.home)
	if len(parts) > len(home) {
		return false
	}
	for i, part := range parts {
		if !matchesName(part, home[i]) {
			return false
		}
	}
	return true
}

func components(abs string) []string {
	return strings.FieldsFunc(strings.ReplaceAll(abs, "[!", "[^"), func(c rune) bool { return c == '/' })
}

func shown(word string) string { return clip(oneLine(strings.ReplaceAll(word, assumption, "…")), 80) }

// pathsIn gives the texts in a word that may be paths: the word, the values of flags, and what quotes and operators
// of other languages set apart.
func pathsIn(word string) []string {
	out := []string{word}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
	}
	return append(out, strings.FieldsFunc(word, func(c rune) bool { return strings.ContainsRune("=:,@'\"`()<>;|&{} \t\n\r", c) })...)
}

// places are the absolute paths that a word may mean, as it is written and with links of the workspace followed.
func (w *reachWalk) places(word string) []string {
	var out []string
	if word == "" || strings.ContainsRune(word, 0) || len(word) > 4096 {
		return nil
	}
	for _, text := range slices.Compact([]string{strings.ReplaceAll(word, assumption, w.home), strings.ReplaceAll(word, assumption, "")}) {
		for _, dir := range w.at {
			abs := text
			switch {
			case text == "~" || strings.HasPrefix(text, "~/"):
				abs = w.commandHome + text[1:]
			case !strings.HasPrefix(text, "/"):
				abs = dir + "/" + text
			}
			out = append(out, w.followed(abs)...)
		}
	}
	return out
}

// followed is an absolute path cleaned, and, below the roots, with its links followed: elsewhere a look at the disk may
// wait for a network.
func (b *sandbox) followed(abs string) []string {
	clean := filepath.Clean(abs)
	out := []string{clean}
	if _, err := b.within(clean); err != nil {
		return out
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return append(out, real)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(clean)); err == nil {
		return append(out, filepath.Join(real, filepath.Base(clean)))
	}
	return out
}

// closed says why an absolute path, which may be a pattern, is not covered by an earlier answer, or "".
func (b *sandbox) closed(abs string, a access) string {
	if at := strings.IndexAny(abs, "*?["); at >= 0 {
		if dir := filepath.Dir(abs[:at] + "x"); b.neighbour(dir) || dir != b.home && b.amongNeighbours(dir) {
			return "belongs to another agent or to the control plane"
		}
		for _, p := range b.matching(abs) {
			if why := b.closed(p, a); why != "" {
				return why
			}
		}
		return ""
	}
	if why := b.protection(place{root: "/", rel: strings.TrimPrefix(abs, "/")}, a); why != "" {
		return why
	}
	if b.neighbour(abs) {
		return "belongs to another agent or to the control plane"
	}
	if _, err := b.within(abs); err == nil {
		if info, err := os.Stat(abs); err == nil && b.alias(info) {
			return "is a secret file of the agent's home under another name"
		}
	}
	return ""
}

// neighbour reports a path beside the home that is another profile's, the gateway's or the control plane's. Nothing
// that the profile declares as a root of its own is.
func (b *sandbox) neighbour(abs string) bool {
	domain := domainOf(b.home)
	if rel, ok := below(domain, abs); !ok || rel == "." {
		return false
	}
	for _, own := range append([]string{b.home}, b.roots...) {
		_, inside := below(domain, own)
		_, mine := below(own, abs)
		_, above := below(abs, own)
		if inside && (mine || above) {
			return false
		}
	}
	return true
}

// amongNeighbours reports a directory above the home in which others may be: a pattern in it means them too.
func (b *sandbox) amongNeighbours(dir string) bool {
	_, inside := below(domainOf(b.home), dir)
	_, above := below(dir, b.home)
	return inside && above
}

// domainOf is the directory of which everything belongs to hermes: the data directory when the home lies in one, else
// the root of the gateway's homes, else the home.
func domainOf(home string) string {
	root := home
	if filepath.Base(filepath.Dir(home)) == "profiles" {
		root = filepath.Dir(filepath.Dir(home))
	}
	if gateways := filepath.Dir(filepath.Dir(root)); filepath.Base(gateways) == "gateways" && filepath.Dir(gateways) != "/" {
		return filepath.Dir(gateways)
	}
	return root
}

// matching lists what a pattern may stand for of the home, of its directories above, and beside it. It reads the home's
// directory only, and compares name by name.
func (b *sandbox) matching(pattern string) []string {
	parts, home := components(pattern), components(b.home)
	for i, part := range parts {
		if i < len(home) {
			if !matchesName(part, home[i]) {
				return nil
			}
			continue
		}
		rest := filepath.Join(parts[i+1:]...)
		var out []string
		entries, _ := os.ReadDir(b.home) // what cannot be listed has no names to match
		names := slices.Clone(secretFiles)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		for _, name := range names {
			if matchesName(part, name) {
				out = append(out, filepath.Join(b.home, name, strings.NewReplacer("*", "x", "?", "x", "[", "x").Replace(rest)))
			}
		}
		return out
	}
	return nil
}

// matchesName is a shell's match of one name: a leading dot is matched by a dot only.
func matchesName(pattern, name string) bool {
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}
