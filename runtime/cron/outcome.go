package cron

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// quotaMargin is added to what a provider asks for.
const quotaMargin = 60 * time.Second

// unreachableDelays is the ladder of retries after a model could not be reached.
var unreachableDelays = [...]time.Duration{300 * time.Second, 900 * time.Second, 1800 * time.Second}

// result is an outcome with its markers read.
type result struct {
	// status is the value for last_status before delivery.
	status string
	// problem is why the run failed, empty when it did not.
	problem string
	// text is what to deliver, empty for nothing.
	text string
	// withheld says that a failure is not told, because the run is tried again soon.
	withheld  bool
	outcome   Outcome
	succeeded bool
}

// judge reads an outcome: markers, silence, soft failures.
//
// Implements C-230, T-196, T-197.
func judge(o Outcome) result {
	text := strings.TrimSpace(o.Text)
	r := result{status: StatusOK, text: text, outcome: o, succeeded: true}
	first, rest, _ := strings.Cut(text, "\n")
	switch {
	case o.Blocked != "":
		r.fail(StatusBlocked, o.Blocked)
	case o.Err != nil:
		r.fail(StatusError, o.Err.Error())
	case o.Script:
		// What a script prints is its own.
	case text == "":
		r.fail(StatusError, "the agent ended without an answer")
	case strings.TrimSpace(first) == "[CRON_FAILURE]":
		r.fail(StatusError, strings.TrimSpace(rest))
	}
	if r.succeeded && silent(text) {
		r.text = ""
	}
	return r
}

func (r *result) fail(status, problem string) {
	if problem == "" {
		problem = "the run says that it failed and not why"
	}
	r.status, r.problem, r.text, r.succeeded = status, problem, problem, false
}

// silent reports whether the text asks not to be delivered: a marker is all of it, its first line or its last.
func silent(text string) bool {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range []string{lines[0], lines[len(lines)-1]} {
		switch strings.ToUpper(strings.TrimSpace(line)) {
		case "[SILENT]", "SILENT", "NO_REPLY", "NO REPLY":
			return true
		}
	}
	return false
}

// WakesAgent reads a script that runs before an agent: its output, and whether the agent is to run. A last line that is
// the JSON object {"wakeAgent": false} lets it sleep.
//
// Implements the script rule of C-230.
func WakesAgent(stdout string) bool {
	text := strings.TrimSpace(stdout)
	var last struct {
		WakeAgent *bool `json:"wakeAgent"`
	}
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return json.Unmarshal([]byte(line), &last) != nil || last.WakeAgent == nil || *last.WakeAgent
}

// recordRun returns the record after a run.
//
// Implements C-112, C-138, C-139.
func recordRun(j Job, r *result, now time.Time, s Settings) Job {
	j.LastRunAt, j.LastStatus, j.LastError = At(now), r.status, r.problem
	j.LastDeliveryError, j.LastDeliveryUnverified, j.LastDeliveryQueued, j.LastFireError = "", nil, nil, nil
	j.PreflightAlerted = r.status == StatusBlocked
	switch {
	case r.succeeded:
		j.FailureStreak = 0
	case r.status == StatusError:
		j.FailureStreak++
	}
	if !j.Recurring() {
		j.Enabled, j.State, j.NextRunAt = false, StateCompleted, Instant{}
		return j
	}
	if retryUnreachable(&j, r, now, s) {
		return j
	}
	j.Repeat.Completed++
	if j.atLimit() || j.NextRunAt.IsZero() {
		j.Enabled, j.State, j.NextRunAt = false, StateCompleted, Instant{}
		return j
	}
	if wait := r.outcome.QuotaWait; wait > 0 && !r.succeeded {
		until := now.Add(wait + quotaMargin)
		j.QuotaHoldUntil = At(until)
		if j.Schedule.Kind == Interval {
			j.NextRunAt = At(until)
		} else if next, ok := j.Schedule.Next(until, j.lastUsed(), s.Zone); ok {
			j.NextRunAt = At(next)
		}
	}
	return j
}

// retryUnreachable puts a job whose model could not be reached on the next step of the ladder, unless its own slot comes
// sooner or the ladder has ended.
//
// Implements C-139, T-122, T-123.
func retryUnreachable(j *Job, r *result, now time.Time, s Settings) bool {
	attempt := 1
	if j.UnreachableRetry != nil {
		attempt = j.UnreachableRetry.Attempt + 1
	}
	j.UnreachableRetry = nil
	if !r.outcome.Unreachable || r.outcome.APICalls > 0 || r.succeeded || !s.RetryUnreachable || attempt > len(unreachableDelays) {
		return false
	}
	at := now.Add(unreachableDelays[attempt-1])
	if j.NextRunAt.IsZero() || !at.Before(j.NextRunAt.Time) {
		return false
	}
	j.UnreachableRetry, j.NextRunAt, r.withheld = &UnreachableRetry{Attempt: attempt}, At(at), true
	return true
}

// notice is the text that tells of a failure.
func notice(j Job, r result, s Settings) string {
	text := fmt.Sprintf("Scheduled job %q failed: %s", j.Name, r.problem)
	if r.status == StatusBlocked {
		text = fmt.Sprintf("Scheduled job %q cannot run: %s", j.Name, r.problem)
	}
	if j.Recurring() && s.FailureNudge > 0 && j.FailureStreak >= s.FailureNudge {
		text += fmt.Sprintf("\nIt has failed %d times in a row: please review the job or pause it.", j.FailureStreak)
	}
	if !j.QuotaHoldUntil.IsZero() {
		text += "\nIt is held until " + j.QuotaHoldUntil.Format(isoLayout) + "."
	}
	return text
}
