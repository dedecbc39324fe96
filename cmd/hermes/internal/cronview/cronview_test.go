package cronview

import (
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/localapi"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func has(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// TestC204List: columns, repeat n/m or ∞, and notes only for what is wrong.
func TestC204List(t *testing.T) {
	three := 3
	job := localapi.Job{ID: "aa", Name: "brief", State: "scheduled", Schedule: "every 2h", Deliver: "local", NextRun: now.Add(time.Hour)}
	text := List([]localapi.Job{job}, now)
	has(t, text, "ID", "REPEAT", "∞", "in 60m", "local")
	if strings.Contains(text, "!") {
		t.Errorf("a sound job has notes:\n%s", text)
	}
	job.Times, job.Completed = &three, 1
	job.FailureStreak, job.LastStatus, job.LastError = 1, "ok", "boom"
	if text := List([]localapi.Job{job}, now); !strings.Contains(text, "1/3") || strings.Contains(text, "in a row") {
		t.Errorf("a streak of one is shown:\n%s", text)
	}
	job.FailureStreak = 2
	job.DeliveryError, job.Unverified, job.Queued, job.FireError = "gone", []string{"a:1"}, []string{"b:2"}, "no descriptor"
	has(t, List([]localapi.Job{job}, now), "failed 2 times in a row: boom", "undelivered: gone", "arrived at a:1", "waits at b:2", "was not begun: no descriptor")
}

// TestC203Next: what is overdue is never a run to come.
func TestC203Next(t *testing.T) {
	for name, c := range map[string]struct {
		job  localapi.Job
		want string
	}{
		"to come":   {localapi.Job{State: "scheduled", NextRun: now.Add(2 * time.Minute)}, "in 2m"},
		"due":       {localapi.Job{State: "scheduled", NextRun: now.Add(-time.Minute)}, "due"},
		"overdue":   {localapi.Job{State: "scheduled", NextRun: now.Add(-time.Hour), OverdueSeconds: 3600}, "OVERDUE 60m"},
		"paused":    {localapi.Job{State: "paused", NextRun: now.Add(time.Hour)}, "-"},
		"completed": {localapi.Job{State: "completed"}, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Next(c.job, now); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestStatus: C-200 to C-202, what is good and what is not, and what to do about it.
func TestStatus(t *testing.T) {
	served := Place{Profile: "alice", Served: true, Gateway: "home"}
	active := func(verdict string) localapi.CronStatus {
		return localapi.CronStatus{Verdict: verdict, Message: "msg-" + verdict, Jobs: 1, Active: 1}
	}
	old := active("Stalled")
	old.Heartbeat = now.Add(-2 * time.Hour)
	overdue := active("Healthy")
	overdue.Overdue = 1
	for name, c := range map[string]struct {
		status localapi.CronStatus
		place  Place
		ok     bool
		want   []string
	}{
		"no jobs":             {localapi.CronStatus{Verdict: "NotReported"}, served, true, []string{"no scheduled jobs"}},
		"C-201 6":             {active("Healthy"), served, true, []string{"✓ msg-Healthy", "1 active"}},
		"C-201 1":             {active("NotReported"), served, false, []string{"✗ msg-NotReported", "hermes gateway restart home"}},
		"C-201 2":             {active("Stalled"), served, false, []string{"✗ msg-Stalled"}},
		"C-201 4":             {active("Failing"), served, false, []string{"✗ msg-Failing"}},
		"C-202 nobody serves": {old, Place{Profile: "alice"}, false, []string{"no gateway serves profile alice", "last worked 120m ago", "hermes cron tick"}},
		"C-203 overdue":       {overdue, served, false, []string{"1 OVERDUE"}},
		"only paused jobs":    {localapi.CronStatus{Verdict: "Stalled", Jobs: 1}, Place{Profile: "alice"}, true, []string{"0 active"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, ok := Status(c.status, c.place, now)
			if ok != c.ok {
				t.Errorf("ok = %v", ok)
			}
			has(t, text, c.want...)
		})
	}
}

// TestDiagnose: C-205, a finding for each thing that is wrong, and where a declared job is changed.
func TestDiagnose(t *testing.T) {
	served := Place{Profile: "alice", Served: true}
	jobs := []localapi.Job{
		{ID: "a", Name: "fine", State: "scheduled"},
		{ID: "b", Name: "off", State: "paused", PausedReason: "holiday"},
		{ID: "c", Name: "late", State: "scheduled", NextRun: now.Add(-time.Hour), OverdueSeconds: 3600},
		{ID: "d", Name: "broken", State: "scheduled", LastStatus: "error", LastError: "boom", DeclaredBy: "schedule/brief"},
	}
	found := Diagnose(localapi.CronStatus{Verdict: "Healthy", Jobs: 4, Active: 3}, jobs, served, now)
	if len(found) != 2 {
		t.Fatalf("%+v", found)
	}
	has(t, Findings(found), `job "late" is OVERDUE`, "hermes cron run c", "boom", "where it is declared: schedule/brief")
	has(t, Findings(nil), "✓")
}
