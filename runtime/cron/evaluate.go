package cron

import (
	"fmt"
	"time"
)

// verdict is what a tick does with one job. Nothing in it is done yet.
type verdict struct {
	// job is the record as it should be saved when changed is set.
	job     Job
	changed bool
	// fire is the occurrence to hand out, nil for none.
	fire *firing
	// skipped is the occurrence that is passed over for good, with the reason; nil for none.
	skipped *Dispatch
	// remove deletes the record; diagnostic is written to the job's outputs when it is not empty.
	remove     bool
	diagnostic string
}

// scheduled reports whether the verdict uses up an occurrence, so that it must wait while scheduled work is paused.
func (r verdict) scheduled() bool {
	return r.skipped != nil || (r.fire != nil && r.fire.kind != Manual)
}

// firing is an occurrence on its way to a run.
type firing struct {
	id   string
	slot Instant
	kind Lateness
	late time.Duration
}

// evaluate decides what a tick does with a job: repair, restore, re-anchor, retire, skip, fire or nothing.
//
// Implements the order of C-111, C-112, C-132, C-133, C-135 to C-137, C-155 and C-156 over one record.
func evaluate(j Job, v view) verdict {
	if j.Terminal() {
		end, ends := retentionEnd(j, v.settings.CompletedRetentionDays)
		return verdict{job: j, remove: ends && !v.now.Before(end)}
	}
	if !j.Enabled {
		return verdict{job: j}
	}
	if j.Paused() {
		j.Enabled, j.State = false, StatePaused
		return verdict{job: j, changed: true}
	}
	if err := j.Schedule.Check(); err != nil {
		changed := j.State != StateError
		j.State, j.LastError = StateError, "schedule: "+err.Error()
		return verdict{job: j, changed: changed}
	}
	if v.running(j.ID) || v.claimLive(j.FireClaim, fireClaimTTL) {
		return verdict{job: j} // its next occurrence waits until this run has ended
	}
	if j.PendingSlot != nil && v.pendingHeld(j) {
		return verdict{job: j}
	}
	r := prepare(j, v)
	held := r.job.QuotaHoldUntil.After(v.now) && !r.job.manual()
	switch {
	case held:
		return r
	case r.remove || r.diagnostic != "" || r.job.NextRunAt.IsZero() || r.job.NextRunAt.After(v.now):
		return r
	case r.job.Recurring():
		return evaluateRecurring(r, v)
	}
	return evaluateOnce(r, v)
}

// prepare repairs a record and restores what was lost, before the question whether it is due.
func prepare(j Job, v view) verdict {
	r := verdict{job: j}
	if j.State == StateError { // a recurring job with a readable schedule recovers
		r.job.State, r.changed = StateScheduled, true
	}
	if p := j.PendingSlot; p != nil {
		r.job.PendingSlot, r.changed = nil, true
		if !p.ScheduledAt.IsZero() {
			r.job.NextRunAt = p.ScheduledAt
		}
	}
	zone := j.Schedule.In(v.settings.Zone)
	if r.job.NextRunAt.Naive {
		r.job.NextRunAt, r.changed = r.job.NextRunAt.Localised(zone), true
	}
	if r.job.NextRunAt.IsZero() {
		recoverNext(&r, v)
		return r
	}
	if offsetMoved(r.job, v.settings.Zone) && wallAhead(r.job.NextRunAt.Time, v.now.In(zone)) && !r.job.manual() {
		if next, ok := j.Schedule.Next(v.now, j.lastUsed(), v.settings.Zone); ok {
			r.job.NextRunAt, r.changed = At(next), true
		}
	}
	rearm(&r, v)
	return r
}

// wallAhead reports whether the wall clock that stored shows is later than the one that now shows.
func wallAhead(stored, now time.Time) bool {
	return wallSeconds(stored) > wallSeconds(now)
}

func wallSeconds(t time.Time) int64 {
	_, offset := t.Zone()
	return t.Unix() + int64(offset)
}

// recoverNext gives a record back the slot it lacks.
//
// Implements C-137.
func recoverNext(r *verdict, v view) {
	j := r.job
	if j.Recurring() {
		if next, ok := j.Schedule.Next(v.now, j.lastUsed(), v.settings.Zone); ok {
			r.job.NextRunAt, r.changed = At(next), true
			return
		}
		r.job.State, r.job.Enabled, r.changed = StateCompleted, false, true
		return
	}
	at := j.Schedule.RunAt.Localised(j.Schedule.In(v.settings.Zone))
	if v.now.Sub(at.Time) <= onceGrace {
		r.job.NextRunAt, r.changed = at, true
		return
	}
	retire(r, v, at)
}

// rearm brings a recurring job back whose last run failed and which nothing runs.
//
// Implements C-136.
func rearm(r *verdict, v view) {
	at, ok := rearmAt(r.job, v.settings.Zone)
	if !ok || v.now.Before(at) || !r.job.NextRunAt.After(v.now) || r.job.UnreachableRetry != nil || r.job.QuotaHoldUntil.After(v.now) {
		return
	}
	next, ok := v.now, true
	if r.job.Schedule.Kind == Cron {
		next, ok = r.job.Schedule.Next(v.now, r.job.lastUsed(), v.settings.Zone)
	}
	if ok && next.Before(r.job.NextRunAt.Time) {
		r.job.NextRunAt, r.changed = At(next), true
	}
}

// evaluateRecurring decides about a recurring job that is due.
func evaluateRecurring(r verdict, v view) verdict {
	r.job.QuotaHoldUntil = Instant{}
	slot, manual, retry := r.job.NextRunAt, r.job.manual(), r.job.UnreachableRetry != nil
	zone := v.settings.Zone
	if !manual && !retry && !r.job.Schedule.Legal(slot.Time, zone) {
		migrated := offsetMoved(r.job, zone) && r.job.Schedule.Names(slot.Time)
		if next, ok := r.job.Schedule.Next(v.now, r.job.lastUsed(), zone); ok && !migrated {
			r.job.NextRunAt, r.changed = At(next), true // written by hand: nothing is owed
			return r
		}
	}
	late := v.now.Sub(slot.Time)
	kind := ClassifyLateness(late, r.job.Schedule.Grace(v.now, zone))
	last := slot.Time
	if manual || retry {
		last = r.job.lastUsed()
	}
	next, more := r.job.Schedule.Next(v.now, last, zone)
	d := Dispatch{ScheduledAt: slot, DispatchedAt: At(v.now), LatenessSeconds: int64(late / time.Second), Kind: kind, Reason: lateReason(kind)}
	switch {
	case manual:
		kind = Manual
	case retry:
		d.ScheduledAt, d.Reason = At(last), fmt.Sprintf("retry %d after the model could not be reached", r.job.UnreachableRetry.Attempt)
		r.job.LastDispatch = &d
	case kind == CatchUp && !v.settings.CatchUpMissed && more:
		d.Kind, d.Reason = Skipped, "missed by more than its grace while nothing ticked, and catchUpMissed is off"
		r.job.LastDispatch, r.job.NextRunAt, r.changed = &d, At(next), true
		r.skipped = &d
		return r
	default:
		r.job.LastDispatch = &d
	}
	r.job.NextRunAt, r.changed = Instant{}, true
	if more {
		r.job.NextRunAt = At(next)
	}
	r.job.PendingSlot = &PendingSlot{ScheduledAt: slot, At: At(v.now), By: v.owner.Text()}
	r.fire = &firing{id: r.job.ID, slot: slot, kind: kind, late: late}
	return r
}

func lateReason(kind Lateness) string {
	switch kind {
	case CatchUp:
		return "missed by more than its grace; one run stands for all that were missed"
	case Late:
		return "began later than 300 s after its time"
	}
	return ""
}

// evaluateOnce decides about a one-shot that is due.
//
// Implements C-133, C-156, T-118.
func evaluateOnce(r verdict, v view) verdict {
	slot := r.job.NextRunAt
	late := v.now.Sub(slot.Time)
	switch {
	case v.runClaimLive(r.job):
		return r
	case r.job.atLimit() && r.job.LastRunAt.IsZero():
		r.remove = true
		r.diagnostic = "The run began and its process ended before it could say how it went. It is not run a second time."
		return r
	case late > onceGrace && !r.job.manual():
		retire(&r, v, slot)
		return r
	}
	r.job.RunClaim, r.changed = &ClaimStamp{At: At(v.now), By: v.owner.Text()}, true
	kind := OnTime
	if r.job.manual() {
		kind = Manual
	} else {
		r.job.LastDispatch = &Dispatch{ScheduledAt: slot, DispatchedAt: At(v.now), LatenessSeconds: int64(late / time.Second), Kind: kind}
	}
	r.fire = &firing{id: r.job.ID, slot: slot, kind: kind, late: late}
	return r
}

// retire ends a one-shot whose time passed. The record stays for a person to see.
func retire(r *verdict, v view, slot Instant) {
	late := v.now.Sub(slot.Time)
	d := Dispatch{ScheduledAt: slot, DispatchedAt: At(v.now), LatenessSeconds: int64(late / time.Second), Kind: Skipped,
		Reason: "a one-shot more than 120 s late is not run"}
	if r.job.RunClaim != nil {
		d.Reason = "a process claimed the one-shot, ended before it began, and now it is more than 120 s late"
	} else {
		r.diagnostic = fmt.Sprintf("The one-shot was due at %s and nothing ran it within 120 s. It is not run any more; resume it with a time to run it.",
			slot.Format(isoLayout))
	}
	r.job.Enabled, r.job.State, r.job.NextRunAt = false, StateError, Instant{}
	r.job.LastStatus, r.job.LastError, r.job.LastDispatch = StatusMissed, d.Reason, &d
	r.job.RunClaim, r.job.ManualRunAt = nil, Instant{}
	r.changed, r.skipped = true, &d
}
