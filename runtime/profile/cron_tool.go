package profile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/tools"
)

// manageJobs is cronjob_manage. A job that a declaration owns is refused by the store, with whose it is.
func (r *Runtime) manageJobs(ctx context.Context, session string, q tools.CronRequest) (string, error) {
	jobs, err := r.Jobs()
	if err != nil {
		return "", err
	}
	var j cron.Job
	did := q.Action + "d"
	switch q.Action {
	case "list":
		return r.listJobs(jobs)
	case "create":
		n := cron.NewJob{Name: q.Name, Prompt: q.Prompt, Schedule: q.Schedule, Deliver: cron.Deliver(q.Deliver), Repeat: given(q.Repeat)}
		n.Origin = &cron.Origin{Platform: PlatformSession, ChatID: session}
		j, err = jobs.Create(ctx, n)
	case "edit":
		did = "changed"
		p := cron.Patch{Name: given(q.Name), Prompt: given(q.Prompt), Schedule: given(q.Schedule), Repeat: given(q.Repeat), Deliver: given(cron.Deliver(q.Deliver))}
		if p == (cron.Patch{}) {
			return "", fmt.Errorf("nothing is to be changed: give name, prompt, schedule, repeat or deliver")
		}
		j, err = jobs.Edit(ctx, q.Job, p)
	case "pause":
		j, err = jobs.Pause(ctx, q.Job, q.Reason)
	case "resume":
		j, err = jobs.Resume(ctx, q.Job, cron.ResumeOptions{})
	case "run":
		did = "is due now"
		j, err = jobs.Trigger(ctx, q.Job, "") // the next tick begins it: not this turn, which may be a run itself
	case "remove":
		j, err = jobs.Remove(ctx, q.Job)
		if err == nil {
			return fmt.Sprintf("removed %s %q", j.ID, j.Name), nil
		}
	default:
		return "", fmt.Errorf("there is no action %q", q.Action)
	}
	if err != nil {
		return "", err
	}
	return did + ": " + describeJob(j), nil
}

func given[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

func (r *Runtime) listJobs(jobs *cron.Store) (string, error) {
	list, err := jobs.Jobs()
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "[there are no scheduled jobs]", nil
	}
	var b strings.Builder
	for _, j := range list {
		fmt.Fprintln(&b, describeJob(j))
	}
	return b.String(), nil
}

func describeJob(j cron.Job) string {
	text := fmt.Sprintf("%s %q, %s, %s", j.ID, j.Name, j.State, j.ScheduleDisplay)
	if j.Runnable() && !j.NextRunAt.IsZero() {
		text += ", next run " + j.NextRunAt.Format(time.RFC3339)
	}
	if j.LastStatus != "" {
		text += ", last run " + j.LastStatus
	}
	if j.DeclaredBy != "" {
		text += ", declared by " + j.DeclaredBy
	}
	return text
}
