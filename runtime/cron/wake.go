package cron

import "time"

// wakeSettings are the settings that decide when a tick must look at a job.
type wakeSettings struct {
	zone      *time.Location
	retention int
}

// never is later than any time a tick sees.
var never = time.Unix(1<<40, 0)

// wakeAt returns the earliest instant at which a tick has to look at the job; the zero time is at once. It may be too
// early, at the price of a look, and must never be too late: whatever [evaluate] would change or fire at some instant
// must have been woken by then, but for an unreadable schedule, which is found out when its slot is due.
func wakeAt(j Job, s wakeSettings) time.Time {
	if j.Terminal() {
		if expiry, ok := retentionEnd(j, s.retention); ok {
			return expiry
		}
		return never
	}
	if !j.Enabled {
		return never
	}
	if j.Paused() {
		return time.Time{} // to be disabled
	}
	if j.State == StateError || j.NextRunAt.IsZero() || j.NextRunAt.Naive || j.PendingSlot != nil || offsetMoved(j, s.zone) {
		return time.Time{}
	}
	wake := j.NextRunAt.Time
	if at, ok := rearmAt(j, s.zone); ok && at.Before(wake) {
		wake = at
	}
	return wake
}

// retentionEnd is when a finished one-shot is pruned; false when never.
//
// Implements C-112.
func retentionEnd(j Job, days int) (time.Time, bool) {
	if days < 1 || j.State != StateCompleted || j.Recurring() || j.LastRunAt.IsZero() {
		return time.Time{}, false
	}
	return j.LastRunAt.AddDate(0, 0, days), true
}

// offsetMoved reports whether the stored slot of a cron job was written in a zone that shows that instant differently.
func offsetMoved(j Job, profile *time.Location) bool {
	if j.Schedule.Kind != Cron {
		return false
	}
	_, stored := j.NextRunAt.Zone()
	_, now := j.NextRunAt.In(j.Schedule.In(profile)).Zone()
	return stored != now
}
