package cron

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// Declare makes the job that owner declares what n says: it is created, changed, paused or resumed as needed, and not
// written at all when it already is so. The second result says whether anything was written. What a run recorded stays.
func (s *Store) Declare(ctx context.Context, owner string, n NewJob) (Job, bool, error) {
	if owner == "" {
		return Job{}, false, errors.New("a declared job needs the name of what declares it")
	}
	var job Job
	var written bool
	err := s.update(ctx, func(t *tx) error {
		now, zone := s.now(), s.settings().Zone
		written = false
		found, ok := t.declaredBy(owner)
		var err error
		if !ok {
			job, err = build(n, now, zone)
		} else {
			job, err = redeclare(found, n, now, zone)
		}
		if err != nil {
			return err
		}
		if job.DeclaredBy = owner; !ok || !reflect.DeepEqual(job, found) {
			written = true
			t.put(job)
		}
		return nil
	})
	return job, written, err
}

// Undeclare removes the job that owner declared. It is no error when there is none.
func (s *Store) Undeclare(ctx context.Context, owner string) error {
	return s.update(ctx, func(t *tx) error {
		if job, ok := t.declaredBy(owner); ok && owner != "" {
			t.remove(job.ID)
		}
		return nil
	})
}

// Declared returns the job that owner declared.
func (s *Store) Declared(owner string) (Job, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return Job{}, false, err
	}
	t := &tx{cache: &s.cache}
	job, ok := t.declaredBy(owner)
	return job, ok, nil
}

func (t *tx) declaredBy(owner string) (Job, bool) {
	for _, id := range t.cache.order {
		if e := t.cache.entries[id]; e.job.DeclaredBy == owner {
			return t.get(id)
		}
	}
	return Job{}, false
}

// redeclare applies a declaration to the job it owns. A delay such as "in 30m" counts from the creation of the job, so
// that declaring the same again is no change.
func redeclare(j Job, n NewJob, now time.Time, profile *time.Location) (Job, error) {
	p := Patch{
		Prompt: &n.Prompt, Skills: &n.Skills, Model: &n.Model, Provider: &n.Provider, BaseURL: &n.BaseURL,
		ReasoningEffort: &n.ReasoningEffort, Script: &n.Script, NoAgent: &n.NoAgent,
		MonitorScript: &n.MonitorScript, MonitorURL: &n.MonitorURL, ContextFrom: &n.ContextFrom,
		FailureDeliver: &n.FailureDeliver, AttachToSession: n.AttachToSession,
		EnabledToolsets: &n.EnabledToolsets, Workdir: &n.Workdir, Name: &n.Name,
	}
	if n.Deliver != "" {
		p.Deliver = &n.Deliver
	}
	schedule, err := readSchedule(n.Schedule, n.Zone, j.CreatedAt.Time, profile)
	if err != nil {
		return Job{}, err
	}
	if !sameSchedule(schedule, j.Schedule) {
		p.Schedule, p.Zone = &n.Schedule, &n.Zone
	}
	if wanted, err := repeatFor(schedule, n.Repeat); err != nil || !reflect.DeepEqual(wanted, j.Repeat.Times) {
		p.Repeat = n.Repeat
		if n.Repeat == nil {
			forever := "forever"
			p.Repeat = &forever
		}
	}
	if j, err = edit(j, p, now, profile); err != nil {
		return Job{}, err
	}
	switch {
	case n.Paused && !j.Paused() && !j.Terminal():
		return paused(j, n.PausedReason, now)
	case !n.Paused && j.Paused():
		return resumed(j, ResumeOptions{}, now, profile)
	}
	return j, nil
}

func sameSchedule(a, b Schedule) bool {
	return a.Kind == b.Kind && a.Minutes == b.Minutes && a.Expr == b.Expr && a.Zone == b.Zone && a.RunAt.Equal(b.RunAt.Time)
}
