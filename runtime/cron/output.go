package cron

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// outputLayout names an output by when its run ended.
const outputLayout = "2006-01-02_15-04-05"

// WriteOutput stores what a run of a job ended with and prunes the oldest beyond the retention. It returns the file's path.
//
// Implements C-113.
func (s *Store) WriteOutput(id string, at time.Time, content string) (string, error) {
	if !safeID.MatchString(id) {
		return "", fmt.Errorf("write output: %q is no job id", id)
	}
	dir := s.inDir("output")
	for _, d := range []string{s.dir, dir, filepath.Join(dir, id)} {
		if err := makeDir(d); err != nil {
			return "", fmt.Errorf("write output: %w", err)
		}
	}
	dir = filepath.Join(dir, id)
	settings := s.settings()
	stem := at.In(settings.Zone).Format(outputLayout)
	path := filepath.Join(dir, stem+".md")
	for n := 2; ; n++ { // two runs may end in one second
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			break
		}
		path = filepath.Join(dir, fmt.Sprintf("%s_%d.md", stem, n))
	}
	if _, err := replaceFile(path, []byte(content), nil); err != nil {
		return "", fmt.Errorf("write output: %w", err)
	}
	return path, pruneOutputs(dir, settings.OutputRetention)
}

// Outputs returns the paths of a job's stored outputs, newest first.
func (s *Store) Outputs(id string) ([]string, error) {
	if !safeID.MatchString(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	dir := filepath.Join(s.inDir("output"), id)
	names, err := outputNames(dir)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	slices.Reverse(names)
	return names, err
}

// outputNames lists outputs, oldest first.
func outputNames(dir string) ([]string, error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range found {
		if strings.HasSuffix(e.Name(), ".md") && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, ".md"), strings.TrimSuffix(b, ".md"))
	})
	return names, err
}

func pruneOutputs(dir string, keep int) error {
	if keep < 1 {
		return nil
	}
	names, err := outputNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names[:max(len(names)-keep, 0)] {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune outputs: %w", err)
		}
	}
	return nil
}
