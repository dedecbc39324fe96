package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	defaultMatches = 200
	maxMatches     = 2000
	// maxSearchFiles and searchPatience bound one search; the result says when they ended it.
	maxSearchFiles = 200_000
	searchPatience = 20 * time.Second
	// maxSearchBytes is the largest file that is looked into.
	maxSearchBytes = 16 << 20
	// maxMatchLine is how much of a matching line is shown, in bytes.
	maxMatchLine = 400
)

type searchFilesArgs struct {
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Path       string `json:"path"`
	IgnoreCase bool   `json:"ignore_case"`
	MaxMatches int    `json:"max_matches"`
}

func (s *Set) searchFilesTool() Tool {
	return Tool{
		Definition: Definition{
			Name: "search_files",
			Description: "Search files below a directory. With pattern: lines that match the regular expression, as path:line:text. " +
				"With glob alone: files whose name matches. Binary files and what .gitignore excludes are left out.",
			Parameters: object(map[string]any{
				"pattern":     text("Regular expression (RE2) that a line must match."),
				"glob":        text("Only files that match, for example *.go or src/**/*.ts; without a slash it is matched against the name."),
				"path":        text("Directory or file to search, relative to the workspace or absolute. Default is the workspace."),
				"ignore_case": boolean("Match upper and lower case alike."),
				"max_matches": integer(fmt.Sprintf("How many results at most. Default %d.", defaultMatches), 1, maxMatches),
			}),
		},
		Toolset: toolsetFile,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[searchFilesArgs](c)
			return Plan{Summary: "search " + oneLine(a.Path) + " for " + oneLine(a.Pattern+a.Glob), ReadOnly: true}, err
		},
		Handler: s.searchFiles,
	}
}

func (s *Set) searchFiles(ctx context.Context, c Call) (Result, error) {
	a, err := decode[searchFilesArgs](c)
	if err != nil {
		return Result{}, err
	}
	q := search{set: s, args: a, most: a.MaxMatches}
	if err := q.prepare(); err != nil {
		return Result{}, err
	}
	p, err := s.sandbox.admit(q.args.Path, reading)
	if err != nil {
		return Result{}, err
	}
	timer := s.config.Clock.NewTimer(searchPatience)
	defer timer.Stop()
	q.expired = timer.C()
	if err := q.walk(ctx, p); err != nil {
		return Result{}, err
	}
	return Result{Content: s.bounded(q.render())}, nil
}

// search is one search in progress.
type search struct {
	set     *Set
	args    searchFilesArgs
	line    *regexp.Regexp
	most    int
	expired <-chan time.Time

	out            strings.Builder
	matches, files int
	skipped        int
	ended          string
}

func (q *search) prepare() error {
	if q.args.Pattern == "" && q.args.Glob == "" {
		return errors.New("name a pattern, a glob, or both")
	}
	if q.most == 0 {
		q.most = defaultMatches
	}
	if q.args.Path == "" {
		q.args.Path = "."
	}
	if q.args.Glob != "" && !doublestar.ValidatePattern(q.args.Glob) {
		return fmt.Errorf("glob %q is malformed", q.args.Glob)
	}
	if q.args.Pattern == "" {
		return nil
	}
	pattern := q.args.Pattern
	if q.args.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	var err error
	if q.line, err = regexp.Compile(pattern); err != nil {
		return fmt.Errorf("pattern is no RE2 regular expression: %w", err)
	}
	return nil
}

// errEnough ends a walk that has found what it may show.
var errEnough = errors.New("enough")

func (q *search) walk(ctx context.Context, p place) error {
	root, err := os.OpenRoot(p.root)
	if err != nil {
		return err
	}
	defer root.Close()
	rules := newIgnoreRules(func(rel string) (*os.File, error) {
		f, _, err := q.set.openRegular(rel, place{p.root, rel})
		return f, err
	}, p.rel)
	err = fs.WalkDir(root.FS(), p.rel, func(rel string, d fs.DirEntry, err error) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-q.expired:
			q.ended = fmt.Sprintf("stopped after %s", searchPatience)
			return errEnough
		default:
		}
		if err != nil {
			if rel == p.rel {
				return fmt.Errorf("%s: %w", q.args.Path, plain(err))
			}
			q.skipped++
			return nil
		}
		return q.visit(p, rel, d, rules)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (q *search) visit(start place, rel string, d fs.DirEntry, rules *ignoreRules) error {
	if rel != start.rel && (rules.ignored(rel, d.IsDir()) || q.set.sandbox.protection(place{start.root, rel}, reading) != "") {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if d.IsDir() {
		rules.enter(rel)
		return nil
	}
	if !d.Type().IsRegular() || !q.named(start.rel, rel) {
		return nil
	}
	if q.files++; q.files > maxSearchFiles {
		q.ended = fmt.Sprintf("stopped after %d files", maxSearchFiles)
		return errEnough
	}
	if q.line == nil {
		return q.add(q.show(start, rel))
	}
	return q.look(start, rel)
}

// named matches the glob: against the name, or, when it has a slash, against the path below where the search began.
func (q *search) named(start, rel string) bool {
	if q.args.Glob == "" {
		return true
	}
	subject := path.Base(rel)
	if strings.Contains(q.args.Glob, "/") && rel != start {
		subject = strings.TrimPrefix(rel, start+"/")
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(q.args.Glob, "/"), subject)
	return ok
}

// show words a path as the other file tools take it, on one line whatever its name holds, so that no name can pass for
// another result.
func (q *search) show(start place, rel string) string {
	if start.root == q.set.sandbox.roots[0] {
		return flat(rel)
	}
	return flat(place{start.root, rel}.abs())
}

func (q *search) look(start place, rel string) error {
	f, info, err := q.set.openRegular(rel, place{start.root, rel})
	if err != nil || info.Size() > maxSearchBytes {
		if err == nil {
			f.Close()
		}
		q.skipped++
		return nil // counted, and said at the end
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, maxSearchBytes), 64<<10)
	if head, _ := r.Peek(sniffBytes); binary(head) {
		return nil
	}
	for n := 1; ; n++ {
		line, _, err := readLine(r, maxSearchBytes)
		if err != nil {
			return nil // the end of the file, or of what could be read of it
		}
		line = bytes.TrimRight(line, "\r\n")
		if !q.line.Match(line) {
			continue
		}
		if err := q.add(fmt.Sprintf("%s:%d:%s", q.show(start, rel), n, clip(readable(line), maxMatchLine))); err != nil {
			return err
		}
	}
}

func (q *search) add(line string) error {
	if q.matches == q.most {
		q.ended = fmt.Sprintf("there are more than %d results; narrow the search or raise max_matches", q.most)
		return errEnough
	}
	q.matches++
	q.out.WriteString(line + "\n")
	return nil
}

func (q *search) render() string {
	if q.matches == 0 {
		q.out.WriteString("[nothing matches]\n")
	}
	if q.skipped > 0 {
		fmt.Fprintf(&q.out, "[%d files or directories could not be read or are larger than %d MiB]\n", q.skipped, maxSearchBytes>>20)
	}
	if q.ended != "" {
		fmt.Fprintf(&q.out, "[%s]\n", q.ended)
	}
	return q.out.String()
}
