package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/cron"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func schedule(f func(*v1alpha1.ScheduleSpec)) *v1alpha1.Schedule {
	s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "brief", UID: "u1", Generation: 2}}
	s.Spec = v1alpha1.ScheduleSpec{ProfileRef: v1alpha1.ProfileRef{Name: "alice"}, Schedule: "0 9 * * *", Prompt: "x"}
	if f != nil {
		f(&s.Spec)
	}
	return s
}

// TestInvalid is the table of what a person can write wrongly.
func TestInvalid(t *testing.T) {
	for want, f := range map[string]func(*v1alpha1.ScheduleSpec){
		"":                                   nil,
		v1alpha1.ReasonScheduleInvalid:       func(s *v1alpha1.ScheduleSpec) { s.Schedule = "61 9 * * *" },
		v1alpha1.ReasonTimezoneInvalid:       func(s *v1alpha1.ScheduleSpec) { s.Timezone = "Local" },
		v1alpha1.ReasonDeliverInvalid:        func(s *v1alpha1.ScheduleSpec) { s.Deliver = []string{"local", "all:x"} },
		v1alpha1.ReasonTimezoneInvalid + " ": func(s *v1alpha1.ScheduleSpec) { s.Timezone, s.Schedule = "No/Where", "never" },
	} {
		got := ""
		if r := invalid(schedule(f), noon); r != nil {
			got = r.Reason
		}
		if got != want && got+" " != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestRefusedJob tells a refusal, which only an edit cures, from a store that may work again.
func TestRefusedJob(t *testing.T) {
	for _, c := range []struct {
		err       error
		reason    string
		transient bool
	}{
		{errors.New("the prompt would stop its gateway"), v1alpha1.ReasonJobRefused, false},
		{fmt.Errorf("cron store: %w", &fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission}), v1alpha1.ReasonJobStoreUnavailable, true},
		{context.DeadlineExceeded, v1alpha1.ReasonJobStoreUnavailable, true},
	} {
		r, transient := refusedJob(c.err)
		if r.Reason != c.reason || transient != c.transient || !errors.Is(r, c.err) {
			t.Errorf("%v: %s, %v", c.err, r.Reason, transient)
		}
	}
}

// TestDone: a job that ended and was cleared away is not declared again, unless the Schedule changed.
func TestDone(t *testing.T) {
	for _, c := range []struct {
		reason     string
		generation int64
		found      bool
		want       bool
	}{
		{v1alpha1.ReasonCompleted, 2, false, true},
		{v1alpha1.ReasonCompleted, 2, true, false},
		{v1alpha1.ReasonCompleted, 1, false, false},
		{v1alpha1.ReasonScheduled, 2, false, false},
	} {
		s := schedule(nil)
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionScheduled, Reason: c.reason, ObservedGeneration: c.generation}}
		if got := done(s, c.found); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestObserved is the table of a job's states as its Schedule shows them.
func TestObserved(t *testing.T) {
	at := func(d time.Duration) cron.Instant { return cron.At(noon.Add(d)) }
	known := &v1alpha1.ScheduleRun{At: metav1.NewTime(noon.Add(-3 * time.Hour)), Outcome: "Failed"}
	ran := cron.Job{
		ID: "j", Enabled: true, State: cron.StateScheduled, NextRunAt: at(time.Hour), LastRunAt: at(-time.Minute), LastStatus: cron.StatusOK,
		LastDispatch: &cron.Dispatch{DispatchedAt: at(-2 * time.Minute), LatenessSeconds: 90, Kind: cron.Late},
	}
	with := func(f func(*cron.Job)) cron.Job { j := ran; f(&j); return j }
	dispatched := func(kind cron.Lateness, d time.Duration) func(*cron.Job) {
		return func(j *cron.Job) {
			j.LastDispatch = &cron.Dispatch{DispatchedAt: at(d), LatenessSeconds: 90, Kind: kind}
		}
	}
	for _, c := range []struct {
		name  string
		job   cron.Job
		known *v1alpha1.ScheduleRun
		want  string // reason, active, minutes to the next run, the last run
	}{
		{"not run yet", cron.Job{ID: "j", Enabled: true, State: cron.StateScheduled, NextRunAt: at(time.Hour)}, nil, "Scheduled false 60 none"},
		{"ran late", ran, known, "Scheduled false 60 Succeeded -2 1m30s"},
		{"failed", with(func(j *cron.Job) { j.LastStatus = cron.StatusError }), nil, "Scheduled false 60 Failed -2 1m30s"},
		{"asked for by a person", with(dispatched(cron.Manual, -2*time.Minute)), nil, "Scheduled false 60 Succeeded -2 none"},
		{"the next was skipped", with(dispatched(cron.Skipped, -30*time.Second)), known, "Scheduled false 60 Failed -180 none"},
		{"the next was skipped, nothing known", with(dispatched(cron.Skipped, -30*time.Second)), nil, "Scheduled false 60 Succeeded -1 none"},
		{"runs now", with(func(j *cron.Job) { j.FireClaim = &cron.ClaimStamp{At: at(-time.Minute)} }), known, "Scheduled true 60 Failed -180 none"},
		{"claim of a run that died", with(func(j *cron.Job) { j.FireClaim = &cron.ClaimStamp{At: at(-claimAge)} }), known, "Scheduled false 60 Succeeded -2 1m30s"},
		{"paused", with(func(j *cron.Job) { j.Enabled, j.State = false, cron.StatePaused }), nil, "Suspended false none Succeeded -2 1m30s"},
		{"completed", with(func(j *cron.Job) { j.Enabled, j.State = false, cron.StateCompleted }), nil, "Completed false none Succeeded -2 1m30s"},
	} {
		s := schedule(nil)
		s.Status.LastRun = c.known
		r := observed(s, c.job, noon)
		if got := show(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func show(r scheduleReport) string {
	next, last := "none", "none"
	if r.nextRun != nil {
		next = fmt.Sprint(r.nextRun.Sub(noon).Minutes())
	}
	if l := r.lastRun; l != nil {
		late := "none"
		if l.Lateness != nil {
			late = l.Lateness.Duration.String()
		}
		last = fmt.Sprint(l.Outcome, " ", l.At.Sub(noon).Minutes(), " ", late)
	}
	return fmt.Sprint(r.condition.Reason, " ", r.active, " ", next, " ", last)
}
