package cron

import (
	"context"
	"strings"
	"time"
)

// Patch names what is to change; nil leaves a field as it is.
type Patch struct {
	Name, Prompt              *string
	Skills                    *[]string
	Model, Provider, BaseURL  *string
	ReasoningEffort           *string
	Script                    *string
	NoAgent                   *bool
	MonitorScript, MonitorURL *string
	ContextFrom               *[]string
	Schedule, Zone            *string
	Repeat                    *string
	Deliver, FailureDeliver   *Deliver
	AttachToSession           *bool
	EnabledToolsets           *[]string
	Workdir                   *string
}

// edit returns the job with the patch applied, or why it would not be a job.
//
// Implements C-108, C-109.
func edit(j Job, p Patch, now time.Time, profile *time.Location) (Job, error) {
	set(&j.Prompt, p.Prompt)
	set(&j.Model, p.Model)
	set(&j.Provider, p.Provider)
	set(&j.BaseURL, p.BaseURL)
	set(&j.ReasoningEffort, p.ReasoningEffort)
	set(&j.Script, p.Script)
	set(&j.NoAgent, p.NoAgent)
	set(&j.MonitorScript, p.MonitorScript)
	set(&j.MonitorURL, p.MonitorURL)
	set(&j.ContextFrom, p.ContextFrom)
	set(&j.Deliver, p.Deliver)
	set(&j.FailureDeliver, p.FailureDeliver)
	set(&j.EnabledToolsets, p.EnabledToolsets)
	set(&j.Workdir, p.Workdir)
	if p.AttachToSession != nil {
		j.AttachToSession = copied(p.AttachToSession)
	}
	if p.Skills != nil {
		j.Skills, j.Skill = cleaned(*p.Skills), ""
		if len(j.Skills) > 0 {
			j.Skill = j.Skills[0]
		}
	}
	if p.Name != nil {
		if j.Name = strings.TrimSpace(*p.Name); j.Name == "" {
			j.Name = defaultName(j)
		}
	}
	content := NewJob{Prompt: j.Prompt, Skills: j.Skills, Script: j.Script, NoAgent: j.NoAgent, MonitorScript: j.MonitorScript,
		MonitorURL: j.MonitorURL, Deliver: j.Deliver, FailureDeliver: j.FailureDeliver, Workdir: j.Workdir}
	if err := checkContent(content); err != nil {
		return Job{}, err
	}
	return editTiming(j, p, now, profile)
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func editTiming(j Job, p Patch, now time.Time, profile *time.Location) (Job, error) {
	wasRecurring := j.Recurring()
	if p.Schedule != nil || p.Zone != nil {
		text, zone := scheduleText(j.Schedule), j.Schedule.Zone
		set(&text, p.Schedule)
		set(&zone, p.Zone)
		schedule, err := readSchedule(text, zone, now, profile)
		if err != nil {
			return Job{}, err
		}
		j.Schedule, j.ScheduleDisplay = schedule, schedule.Display
		if j.Terminal() || j.State == StateError {
			j.Enabled, j.State, j.Repeat.Completed = true, StateScheduled, 0
		}
		j.UnreachableRetry, j.ManualRunAt, j.ManualRunPrompt = nil, Instant{}, ""
		next, err := reanchor(j, now, profile)
		if err != nil {
			return Job{}, err
		}
		if j.NextRunAt = next; j.Paused() {
			j.NextRunAt = Instant{}
		}
	}
	if p.Repeat != nil || wasRecurring != j.Recurring() {
		times, err := repeatFor(j.Schedule, p.Repeat)
		if err != nil {
			return Job{}, err
		}
		j.Repeat.Times = times
	}
	return j, nil
}

// reanchor is the next slot of a job whose schedule or state was changed by hand.
func reanchor(j Job, now time.Time, profile *time.Location) (Instant, error) {
	if j.Schedule.Kind == Once {
		return firstRun(j.Schedule, now, profile)
	}
	next, ok := j.Schedule.Next(now, j.lastUsed(), profile)
	if !ok {
		return firstRun(j.Schedule, now, profile)
	}
	return At(next), nil
}

// scheduleText is a text that parses to the schedule.
func scheduleText(s Schedule) string {
	switch s.Kind {
	case Once:
		return s.RunAt.Format(isoLayout)
	case Interval:
		return s.Display
	}
	return s.Expr
}

// Edit changes a job that no declaration owns.
func (s *Store) Edit(ctx context.Context, ref string, p Patch) (Job, error) {
	return s.change(ctx, ref, func(j Job) (Job, error) { return edit(j, p, s.now(), s.settings().Zone) })
}

// change applies a pure change to a job that no declaration owns.
func (s *Store) change(ctx context.Context, ref string, f func(Job) (Job, error)) (Job, error) {
	var job Job
	err := s.update(ctx, func(t *tx) error {
		found, err := t.findOwn(ref)
		if err != nil {
			return err
		}
		if job, err = f(found); err != nil {
			return err
		}
		t.put(job)
		return nil
	})
	return job, err
}
