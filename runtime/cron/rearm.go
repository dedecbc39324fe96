package cron

import "time"

// rearmAt returns when a recurring job whose last run failed is looked at again although its slot is later: cadence plus
// grace after that run.
//
// Implements the timing of C-136.
func rearmAt(j Job, profile *time.Location) (time.Time, bool) {
	if j.LastStatus != StatusError || !j.Recurring() || j.LastRunAt.IsZero() {
		return time.Time{}, false
	}
	period, ok := j.Schedule.Period(j.LastRunAt.Time, profile)
	if !ok {
		return time.Time{}, false
	}
	return j.LastRunAt.Add(period + min(max(period/2, minGrace), maxGrace)), true
}
