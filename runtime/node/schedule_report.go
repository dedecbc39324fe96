package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/cron"
)

// claimAge is how old the claim of a run may be; a run refreshes its own every minute.
const claimAge = 5 * time.Minute

// outcomes are the words of ScheduleRun.Outcome for what a job records.
var outcomes = map[string]string{
	cron.StatusOK: "Succeeded", cron.StatusError: "Failed", cron.StatusDeliveryFailed: "DeliveryFailed",
	cron.StatusBlocked: "Blocked", cron.StatusInterrupted: "Interrupted", cron.StatusMissed: "Missed",
}

// scheduleReport is the agent's part of a Schedule's status.
type scheduleReport struct {
	condition metav1.Condition
	nextRun   *metav1.Time
	lastRun   *v1alpha1.ScheduleRun
	active    bool
}

// invalid returns the reason why a Schedule cannot become a job, or nil. What it leaves open the store decides.
func invalid(s *v1alpha1.Schedule, now time.Time) *Refusal {
	n := newJob(s)
	zone, err := cron.LoadZone(n.Zone)
	if err != nil {
		return &Refusal{Reason: v1alpha1.ReasonTimezoneInvalid, Err: fmt.Errorf("spec.timezone: %w", err)}
	}
	if _, err := cron.ParseSchedule(n.Schedule, now, zone); err != nil {
		return &Refusal{Reason: v1alpha1.ReasonScheduleInvalid, Err: fmt.Errorf("spec.schedule: %w", err)}
	}
	if _, err := cron.ParseDeliver(n.Deliver); err != nil {
		return &Refusal{Reason: v1alpha1.ReasonDeliverInvalid, Err: fmt.Errorf("spec.deliver: %w", err)}
	}
	return nil
}

// refusedJob says why the store did not take a job, and whether trying again can help.
func refusedJob(err error) (r *Refusal, transient bool) {
	if errors.As(err, &r) {
		return r, false
	}
	var path *fs.PathError
	var link *os.LinkError
	if errors.As(err, &path) || errors.As(err, &link) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return unavailable(err), true
	}
	return &Refusal{Reason: v1alpha1.ReasonJobRefused, Err: err}, false
}

func unavailable(err error) *Refusal {
	return &Refusal{Reason: v1alpha1.ReasonJobStoreUnavailable, Err: err}
}

// done reports whether the job ended for good and its record was cleared away since: declaring it again would run it
// again. A change of the Schedule is another generation, which runs anew.
func done(s *v1alpha1.Schedule, found bool) bool {
	if found {
		return false
	}
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionScheduled {
			return c.Reason == v1alpha1.ReasonCompleted && c.ObservedGeneration == s.Generation
		}
	}
	return false
}

// observed is the report on a job that is as its Schedule declares.
func observed(s *v1alpha1.Schedule, j cron.Job, now time.Time) scheduleReport {
	c := metav1.Condition{
		Type: v1alpha1.ConditionScheduled, Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonScheduled, Message: "job " + j.ID + " of profile " + s.Spec.ProfileRef.Name,
	}
	switch {
	case j.Terminal():
		c.Reason, c.Message = v1alpha1.ReasonCompleted, "job "+j.ID+" has run as often as it should"
	case j.Paused():
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonSuspended, "paused because spec.suspend is true"
	}
	r := scheduleReport{condition: c, active: running(j, now)}
	if j.Runnable() && !j.NextRunAt.IsZero() {
		r.nextRun = &metav1.Time{Time: j.NextRunAt.UTC().Truncate(time.Second)}
	}
	r.lastRun = lastRun(j, r.active, s.Status.LastRun)
	return r
}

func running(j cron.Job, now time.Time) bool {
	return j.FireClaim != nil && now.Sub(j.FireClaim.At.Time) < claimAge
}

// lastRun is the newest finished run. The job's dispatch tells when a run began and how late; while a newer one is in
// progress, or was skipped, it tells of that one, so what was known of the finished run stays.
func lastRun(j cron.Job, active bool, known *v1alpha1.ScheduleRun) *v1alpha1.ScheduleRun {
	d := j.LastDispatch
	switch {
	case j.LastRunAt.IsZero():
		return nil
	case known != nil && (active || d != nil && d.Kind == cron.Skipped):
		return known
	}
	r := &v1alpha1.ScheduleRun{At: metav1.Time{Time: j.LastRunAt.UTC().Truncate(time.Second)}, Outcome: outcomes[j.LastStatus]}
	if r.Outcome == "" {
		r.Outcome = strings.ToValidUTF8(j.LastStatus[:min(len(j.LastStatus), 64)], "")
	}
	if d == nil || active || d.Kind == cron.Skipped || d.DispatchedAt.After(j.LastRunAt.Time) {
		return r
	}
	r.At = metav1.Time{Time: d.DispatchedAt.UTC().Truncate(time.Second)}
	if d.Kind != cron.Manual {
		r.Lateness = &metav1.Duration{Duration: time.Duration(d.LatenessSeconds) * time.Second}
	}
	return r
}
