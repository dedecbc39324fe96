package cron

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrNotFound means no job has the id or the name.
	ErrNotFound = errors.New("no such job")
	// ErrAmbiguous means several jobs have the name.
	ErrAmbiguous = errors.New("several jobs have that name")
	// ErrDeclared means a declaration owns the job.
	ErrDeclared = errors.New("the job is declared")
)

// find resolves a reference: an exact id first, then a name without regard to case.
//
// Implements C-110.
func (t *tx) find(ref string) (Job, error) {
	if job, ok := t.get(ref); ok {
		return job, nil
	}
	var found []Job
	for _, id := range slices.Concat(t.cache.order, t.added) {
		if job, ok := t.get(id); ok && strings.EqualFold(job.Name, strings.TrimSpace(ref)) {
			found = append(found, job)
		}
	}
	switch len(found) {
	case 0:
		return Job{}, fmt.Errorf("%w: %q is neither an id nor a name", ErrNotFound, ref)
	case 1:
		return found[0], nil
	}
	var candidates []string
	for _, job := range found {
		candidates = append(candidates, fmt.Sprintf("%s (%s)", job.ID, job.ScheduleDisplay))
	}
	return Job{}, fmt.Errorf("%w: use one of the ids %s", ErrAmbiguous, strings.Join(candidates, ", "))
}

// findOwn resolves a reference to a job that a person or an agent may change.
func (t *tx) findOwn(ref string) (Job, error) {
	job, err := t.find(ref)
	if err == nil && job.DeclaredBy != "" {
		return Job{}, fmt.Errorf("%w: %s belongs to %s, change it there", ErrDeclared, job.ID, job.DeclaredBy)
	}
	return job, err
}

// Job returns the job that ref names, see C-110.
func (s *Store) Job(ref string) (Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return Job{}, err
	}
	t := &tx{cache: &s.cache}
	return t.find(ref)
}
