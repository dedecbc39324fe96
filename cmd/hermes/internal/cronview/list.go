package cronview

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"hermes.dev/hermes/runtime/localapi"
)

// maxName is how much of a name a table shows, in runes.
const maxName = 32

// List is a table of jobs, with what a person should know of a job below it.
//
// Implements C-204.
func List(jobs []localapi.Job, now time.Time) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tSTATE\tSCHEDULE\tREPEAT\tNEXT\tDELIVER")
	for _, j := range jobs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", j.ID, clip(j.Name), State(j), j.Schedule, repeat(j), Next(j, now), j.Deliver)
	}
	_ = w.Flush() // into memory
	for _, j := range jobs {
		for _, note := range notes(j) {
			fmt.Fprintf(&out, "! %s: %s\n", clip(j.Name), note)
		}
	}
	return out.String()
}

// State is a job's badge.
func State(j localapi.Job) string {
	if j.Running {
		return "running"
	}
	return j.State
}

func repeat(j localapi.Job) string {
	if j.Times == nil {
		return "∞"
	}
	return fmt.Sprintf("%d/%d", j.Completed, *j.Times)
}

// Next says when a job runs next. What is overdue is never shown as something to come.
//
// Implements C-203.
func Next(j localapi.Job, now time.Time) string {
	switch {
	case j.State != "scheduled" || j.NextRun.IsZero():
		return "-"
	case j.OverdueSeconds > 0:
		return "OVERDUE " + duration.HumanDuration(time.Duration(j.OverdueSeconds)*time.Second)
	case !j.NextRun.After(now):
		return "due"
	}
	return "in " + duration.HumanDuration(j.NextRun.Sub(now))
}

// notes are what is wrong with a job: failures from the second in a row, and deliveries that did not arrive.
func notes(j localapi.Job) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case j.FailureStreak > 1:
		add("failed %d times in a row: %s", j.FailureStreak, oneLine(j.LastError))
	case j.LastStatus == "error", j.LastStatus == "blocked_config", j.LastStatus == "interrupted", j.LastStatus == "missed":
		add("last run %s: %s", j.LastStatus, oneLine(j.LastError))
	}
	if j.DeliveryError != "" {
		add("undelivered: %s", oneLine(j.DeliveryError))
	}
	if len(j.Unverified) > 0 {
		add("nothing confirms that it arrived at %s", strings.Join(j.Unverified, ", "))
	}
	if len(j.Queued) > 0 {
		add("waits at %s and was not read there", strings.Join(j.Queued, ", "))
	}
	if j.FireError != "" {
		add("was not begun: %s", oneLine(j.FireError))
	}
	if j.PausedReason != "" {
		add("paused: %s", oneLine(j.PausedReason))
	}
	return out
}

// Runs is a table of the ledger.
func Runs(runs []localapi.JobRun, now time.Time) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tSTATUS\tAGE\tTOOK\tLATENESS\tDELIVERY\tERROR")
	for _, r := range runs {
		took := "-"
		if !r.Started.IsZero() && !r.Finished.IsZero() {
			took = duration.HumanDuration(r.Finished.Sub(r.Started))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Job, r.Status, age(r, now), took, orDash(r.Lateness), orDash(r.Delivery), oneLine(r.Error))
	}
	_ = w.Flush()
	return out.String()
}

func age(r localapi.JobRun, now time.Time) string {
	at := r.Claimed
	if at.IsZero() {
		at = r.Finished
	}
	if at.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(at))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func clip(s string) string {
	if runes := []rune(s); len(runes) > maxName {
		return string(runes[:maxName-1]) + "…"
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
