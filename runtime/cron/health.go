package cron

import (
	"fmt"
	"strings"
	"time"
)

const (
	// markerFresh is how old a marker may be: three cycles and a little.
	markerFresh = 200 * time.Second
	// overdueAfter is how far in the past a next run is an overdue one.
	overdueAfter = 900 * time.Second
)

// Verdict is how a profile's ticker is.
type Verdict string

const (
	// NotReported means the ticker has left no sign yet.
	NotReported Verdict = "NotReported"
	// Stalled means it stopped leaving signs.
	Stalled Verdict = "Stalled"
	// StaleCode means it lives and fires nothing, because newer code is installed.
	StaleCode Verdict = "StaleCode"
	// Failing means it lives and no tick succeeded lately.
	Failing Verdict = "Failing"
	// Healthy means it ticks.
	Healthy Verdict = "Healthy"
)

// Health is a verdict with what a person should read.
type Health struct {
	Verdict Verdict
	Message string
	// Remedy is a command, empty for none.
	Remedy string
}

const restartRemedy = "hermes --profile default gateway restart"

// Judge says how a profile's ticker is. The first rule that matches wins.
//
// Implements C-201, T-180 to T-184.
func Judge(m Markers, now time.Time) Health {
	age := now.Sub(m.Heartbeat)
	stale, yielded := ParseStaleCode(m.Error)
	switch {
	case m.Heartbeat.IsZero():
		return Health{NotReported, "the ticker has not reported yet: wait about 60 s", restartRemedy}
	case age > markerFresh:
		return Health{Stalled, fmt.Sprintf("the ticker stalled: its last sign is %s old", round(age)), restartRemedy}
	case yielded:
		return Health{StaleCode, fmt.Sprintf("the gateway runs code %s while %s is installed, and fires nothing", stale.Booted, stale.Disk), restartRemedy}
	case !m.Success.IsZero() && now.Sub(m.Success) > markerFresh:
		return Health{Failing, fmt.Sprintf("the ticker lives and no tick succeeded for %s%s", round(now.Sub(m.Success)), errorHint(m.Error)), restartRemedy}
	case m.Success.IsZero() && m.Error != "":
		return Health{Failing, "the ticker lives and no tick succeeded yet" + errorHint(m.Error), restartRemedy}
	}
	return Health{Healthy, fmt.Sprintf("ticking, last sign %s ago", round(max(age, 0))), ""}
}

func round(d time.Duration) time.Duration { return d.Round(time.Second) }

// errorHint quotes a tick's error and says what usually is behind it.
func errorHint(text string) string {
	if text == "" {
		return ""
	}
	hint := ": " + text
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "permission denied"):
		hint += " (a file of the profile belongs to somebody else: give the cron directory back to the user that runs the gateway)"
	case strings.Contains(lower, "too many open files"):
		hint += " (raise the limit of open files, or restart the gateway)"
	}
	return hint
}

// NextRun is the earliest next run of the active jobs.
type NextRun struct {
	Job Job
	At  time.Time
	// Overdue is how far in the past it is when that is more than 900 s, else 0.
	Overdue time.Duration
}

// EarliestRun returns the next run over all active jobs, as an instant; false when there is none.
//
// Implements C-203, T-185.
func EarliestRun(jobs []Job, now time.Time) (NextRun, bool) {
	var next NextRun
	found := false
	for _, j := range jobs {
		if !j.Runnable() || j.NextRunAt.IsZero() || (found && !j.NextRunAt.Before(next.At)) {
			continue
		}
		next, found = NextRun{Job: j, At: j.NextRunAt.Time, Overdue: Overdue(j, now)}, true
	}
	return next, found
}

// Overdue returns how long a job's next run is past when that is more than 900 s, else 0. Such a run is never shown as one
// to come.
func Overdue(j Job, now time.Time) time.Duration {
	if late := now.Sub(j.NextRunAt.Time); j.Runnable() && !j.NextRunAt.IsZero() && late > overdueAfter {
		return late
	}
	return 0
}
