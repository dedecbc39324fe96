package cron

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// deliveryReport is what became of a text.
type deliveryReport struct {
	sent, queued, unverified, problems []string
}

// outcome is the report in one word for the ledger.
func (d deliveryReport) outcome() string {
	switch {
	case len(d.problems) > 0:
		return "failed"
	case len(d.unverified) > 0:
		return "unverified"
	case len(d.sent) > 0:
		return "sent"
	case len(d.queued) > 0:
		return "queued"
	}
	return "none"
}

// finish delivers what a run ended with and records it, under the job's fence: whoever does not hold the claim any more
// neither delivers nor records.
func (c *Scheduler) finish(ctx context.Context, f *flight, claim Claim, o Outcome, stopBeating func()) {
	r := judge(o)
	release, err := c.store.fence(ctx, f.id)
	if err != nil {
		c.options.Log.Error(err, "a result is not delivered", "job", f.id)
	} else {
		defer release()
	}
	if f.wasInterrupted() || !c.store.holds(claim) {
		c.options.Log.Info("the result of a run that lost its claim is discarded", "job", f.id)
		c.endExecution(ctx, f, ExecutionFailed, "discarded: the claim was lost before the run ended", "")
		return
	}
	var report deliveryReport
	told := true
	after := recordRun(claim.Job, &r, c.store.now(), c.store.settings()) // a preview, for what the notice says
	if r.succeeded {
		c.resolveIncidents(ctx, f.id)
	} else {
		told = c.tellFailure(ctx, claim.Job, r)
	}
	c.writeOutput(f.id, o, r)
	switch {
	case err != nil:
		report.problems = []string{err.Error()}
	case r.succeeded && r.text != "":
		report = c.deliver(ctx, claim.Job.Deliver, claim.Job.Origin, r.text, false)
	case !r.succeeded && told && !r.withheld:
		report = c.deliver(ctx, failureTarget(claim.Job), claim.Job.Origin, notice(after, r, c.store.settings()), true)
	}
	stopBeating()
	c.record(ctx, f, claim, r, report)
}

func failureTarget(j Job) Deliver {
	if j.FailureDeliver != "" {
		return j.FailureDeliver
	}
	return j.Deliver
}

// tellFailure reports whether a failure is told: a job that cannot run is told of once, a failure that repeats seldom.
func (c *Scheduler) tellFailure(ctx context.Context, j Job, r result) bool {
	if r.status == StatusBlocked {
		return !j.PreflightAlerted
	}
	told, err := c.store.ledger.fail(ctx, j.ID, r.problem, c.store.settings().FailureRepeat)
	if err != nil {
		c.options.Log.Error(err, "incidents could not be read: telling", "job", j.ID)
	}
	return told
}

func (c *Scheduler) resolveIncidents(ctx context.Context, id string) {
	if err := c.store.ledger.resolve(ctx, id); err != nil {
		c.options.Log.Error(err, "incidents could not be ended", "job", id)
	}
}

func (c *Scheduler) writeOutput(id string, o Outcome, r result) {
	content := o.Text
	if !r.succeeded {
		content = strings.TrimSpace(r.problem+"\n\n"+o.Text) + "\n"
	}
	if strings.TrimSpace(content) == "" {
		return
	}
	if _, err := c.store.WriteOutput(id, c.store.now(), content); err != nil {
		c.options.Log.Error(err, "an output could not be written", "job", id)
	}
}

// deliver brings a text to every place it resolves to. One place that fails does not keep it from the others.
func (c *Scheduler) deliver(ctx context.Context, to Deliver, origin *Origin, text string, failure bool) deliveryReport {
	var report deliveryReport
	targets, err := Resolve(to, origin, c.options.Directory())
	if err != nil {
		report.problems = append(report.problems, err.Error())
	}
	for _, target := range targets {
		name := target.Platform + ":" + target.Chat
		receipt, err := c.options.Deliverer.Deliver(ctx, target, text, failure)
		switch {
		case err != nil:
			report.problems = append(report.problems, fmt.Sprintf("%s: %v", name, err))
		case receipt.Queued:
			report.queued = append(report.queued, name)
		case receipt.Unverified:
			report.unverified = append(report.unverified, name)
		default:
			report.sent = append(report.sent, name)
		}
	}
	return report
}

// record writes the end of a run into the job and the ledger.
func (c *Scheduler) record(ctx context.Context, f *flight, claim Claim, r result, report deliveryReport) {
	settings := c.store.settings()
	err := c.store.Finish(ctx, claim, func(j Job, now time.Time) Job {
		fresh := r
		j = recordRun(j, &fresh, now, settings)
		j.LastDeliveryError = strings.Join(report.problems, "; ")
		j.LastDeliveryUnverified, j.LastDeliveryQueued = report.unverified, report.queued
		if fresh.succeeded && len(report.problems) > 0 {
			j.LastStatus = StatusDeliveryFailed
		}
		return j
	})
	status, problem := ExecutionCompleted, ""
	if !r.succeeded {
		status, problem = ExecutionFailed, r.problem
	}
	if errors.Is(err, ErrClaimLost) {
		c.options.Log.Info("the end of a run is discarded", "job", f.id, "why", err.Error())
	} else if err != nil {
		c.options.Log.Error(err, "the end of a run is not recorded", "job", f.id)
	}
	c.endExecution(ctx, f, status, problem, report.outcome())
}

func (c *Scheduler) endExecution(ctx context.Context, f *flight, status ExecutionStatus, problem, delivery string) {
	if f.execID == "" || f.wasInterrupted() {
		return
	}
	if err := c.store.ledger.finish(ctx, f.execID, ExecutionRunning, status, problem, delivery); err != nil {
		c.options.Log.Error(err, "the end of a run is not in the ledger", "job", f.id)
	}
}
