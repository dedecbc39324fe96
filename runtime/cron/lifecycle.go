package cron

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ResumeOptions say when a resumed one-shot runs. At and RunNow exclude each other.
type ResumeOptions struct {
	// At is a new time, zero to keep the stored one.
	At time.Time
	// RunNow runs at the next tick.
	RunNow bool
}

func paused(j Job, reason string, now time.Time) (Job, error) {
	if j.Terminal() {
		return Job{}, fmt.Errorf("job %s is %s: there is nothing to pause", j.ID, j.State)
	}
	j.Enabled, j.State, j.PausedAt, j.PausedReason = false, StatePaused, At(now), reason
	return j, nil
}

// resumed lifts a pause. The stored slot of a recurring job that passed meanwhile stays due, for the next tick to decide;
// everything else is worked out anew.
//
// Implements C-134, T-119.
func resumed(j Job, o ResumeOptions, now time.Time, profile *time.Location) (Job, error) {
	asked := o.RunNow || !o.At.IsZero()
	switch {
	case o.RunNow && !o.At.IsZero():
		return Job{}, errors.New("give a time or run now, not both")
	case asked && j.Recurring():
		return Job{}, fmt.Errorf("job %s recurs: only a one-shot takes a time; trigger it to run it once now", j.ID)
	case j.State == StateCompleted && !asked:
		return Job{}, fmt.Errorf("job %s is completed: edit its schedule to run it again", j.ID)
	case o.RunNow:
		j.Schedule.RunAt = At(now)
	case !o.At.IsZero():
		j.Schedule.RunAt = At(o.At)
	}
	if asked {
		j.Schedule.Display = once(j.Schedule.RunAt).Display
		j.ScheduleDisplay, j.Repeat.Completed, j.RunClaim = j.Schedule.Display, 0, nil
	}
	j.Enabled, j.State, j.PausedAt, j.PausedReason = true, StateScheduled, Instant{}, ""
	if j.Recurring() && !j.NextRunAt.IsZero() && !j.NextRunAt.After(now) {
		return j, nil
	}
	next, err := reanchor(j, now, profile)
	j.NextRunAt = next
	return j, err
}

// triggered makes a job due now because somebody asked. The run belongs to no occurrence.
func triggered(j Job, prompt string, now time.Time) (Job, error) {
	if j.Paused() && j.DeclaredBy != "" {
		return Job{}, fmt.Errorf("%w: %s is suspended by %s, resume it there first", ErrDeclared, j.ID, j.DeclaredBy)
	}
	at := At(now)
	j.NextRunAt, j.ManualRunAt, j.ManualRunPrompt = at, at, prompt
	j.Enabled, j.State, j.PausedAt, j.PausedReason = true, StateScheduled, Instant{}, ""
	if j.atLimit() {
		j.Repeat.Completed-- // the run that was asked for is one more
	}
	j.RunClaim = nil
	return j, nil
}

// Pause stops a job from firing until it is resumed.
func (s *Store) Pause(ctx context.Context, ref, reason string) (Job, error) {
	return s.change(ctx, ref, func(j Job) (Job, error) { return paused(j, reason, s.now()) })
}

// Resume lifts a pause.
func (s *Store) Resume(ctx context.Context, ref string, o ResumeOptions) (Job, error) {
	return s.change(ctx, ref, func(j Job) (Job, error) { return resumed(j, o, s.now(), s.settings().Zone) })
}

// Trigger makes the next tick run the job once, whatever its schedule says; prompt replaces the job's for that run when
// it is not empty. It resumes a paused job, and is allowed for a declared one.
func (s *Store) Trigger(ctx context.Context, ref, prompt string) (Job, error) {
	var job Job
	err := s.update(ctx, func(t *tx) error {
		found, err := t.find(ref)
		if err != nil {
			return err
		}
		if job, err = triggered(found, prompt, s.now()); err != nil {
			return err
		}
		t.put(job)
		return nil
	})
	return job, err
}

// Remove deletes a job. A run that is in progress goes on, and what it ends with is discarded.
func (s *Store) Remove(ctx context.Context, ref string) (Job, error) {
	var job Job
	err := s.update(ctx, func(t *tx) error {
		var err error
		if job, err = t.findOwn(ref); err != nil {
			return err
		}
		t.remove(job.ID)
		return nil
	})
	return job, err
}
