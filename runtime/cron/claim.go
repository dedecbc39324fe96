package cron

import (
	"fmt"
	"time"
)

// earlyFire is how long before its time a hand-triggered fire may begin and still be that occurrence (C-153).
const earlyFire = 60 * time.Second

// FireRequest asks for the right to run a job now.
type FireRequest struct {
	// Slot is the occurrence that a scan handed out, zero for a fire that comes from outside.
	Slot Instant
	// Force fires a job that is paused or disabled, and resumes it.
	Force bool
	// Manual says that a person asked.
	Manual bool
}

// Claim is the right to run a job once. It must be kept alive by its holder and ends with the run.
type Claim struct {
	// Job is the record as it was claimed.
	Job Job
	// By is the text that identifies this acquisition.
	By string
	// Occurrence is the occurrence that the run uses up, zero when it uses none.
	Occurrence Instant
	// Prompt is what to run: the job's prompt, or the one given with a manual run.
	Prompt string
	// Manual says that a person asked for the run.
	Manual bool
}

// occurrenceOf returns the occurrence that a fire now would use up, zero for none: a run that a person asked for must not
// consume a slot to come.
//
// Implements C-153, T-145, T-147.
func occurrenceOf(j Job, now time.Time, q FireRequest) Instant {
	at := j.NextRunAt
	if !q.Slot.IsZero() {
		at = q.Slot
	}
	manual := !j.ManualRunAt.IsZero() && j.ManualRunAt.Equal(at.Time)
	if q.Force || q.Manual || manual || at.IsZero() || at.Naive || at.Sub(now) >= earlyFire {
		return Instant{}
	}
	return Instant{Time: at.UTC()}
}

// refuse says why a job may not be claimed now, empty when it may. A slot that a scan handed out must still be stamped as
// this process's: the stamp is consumed with the claim, so each slot is claimed at most once.
//
// Implements C-152.
func refuse(j Job, v view, q FireRequest) string {
	switch {
	case j.Terminal():
		return fmt.Sprintf("the job is %s", j.State)
	case !j.Runnable() && !q.Force && !recoverable(j):
		return "the job is paused"
	case v.claimLive(j.FireClaim, fireClaimTTL):
		return "another run holds it: " + j.FireClaim.By
	case q.Slot.IsZero() && !j.Recurring() && v.runClaimLive(j):
		return "another process is about to run it: " + j.RunClaim.By
	case q.Slot.IsZero() && !j.Recurring() && j.atLimit() && !q.Force:
		return "it has run"
	case q.Slot.IsZero():
		return ""
	case j.Recurring() && (j.PendingSlot == nil || !v.owner.Wrote(j.PendingSlot.By) || !j.PendingSlot.ScheduledAt.Equal(q.Slot.Time)):
		return "the occurrence was taken over by another process"
	case !j.Recurring() && (j.RunClaim == nil || !v.owner.Wrote(j.RunClaim.By) || !j.NextRunAt.Equal(q.Slot.Time) || j.atLimit()):
		return "the one-shot was taken over by another process"
	}
	return ""
}

func recoverable(j Job) bool {
	return j.State == StateError && j.Recurring() && j.Enabled && !j.Paused()
}

// claimed returns the record with the claim stamped: the pending slot is consumed, a finite one-shot is counted before it
// runs, and a recurring job that no scan advanced is advanced.
//
// Implements C-152, C-156.
func claimed(j Job, v view, q FireRequest, by string) Job {
	if q.Force && !j.Runnable() {
		j.Enabled, j.State, j.PausedAt, j.PausedReason = true, StateScheduled, Instant{}, ""
	}
	j.FireClaim, j.PendingSlot = &ClaimStamp{At: At(v.now), By: by}, nil
	j.ManualRunAt, j.ManualRunPrompt = Instant{}, ""
	if !j.Recurring() {
		j.Repeat.Completed++
		if j.RunClaim == nil {
			j.RunClaim = &ClaimStamp{At: At(v.now), By: v.owner.Text()}
		}
		return j
	}
	if q.Slot.IsZero() {
		last := j.lastUsed()
		if occurrence := occurrenceOf(j, v.now, q); !occurrence.IsZero() {
			last = occurrence.Time
		}
		j.NextRunAt = advanced(j, v, last)
	}
	return j
}

// advanced is the next slot after now and after what was used. An occurrence that is fired a little early is behind us.
func advanced(j Job, v view, last time.Time) Instant {
	base := v.now
	if last.After(base) && last.Sub(base) < earlyFire {
		base = last
	}
	next, ok := j.Schedule.Next(base, last, v.settings.Zone)
	if !ok {
		return Instant{}
	}
	return At(next)
}
