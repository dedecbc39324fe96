package localapi_test

import (
	"errors"
	"net/http"
	"testing"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/test/fakemodel"
)

func code(err error) (string, int) {
	var e *localapi.Error
	if !errors.As(err, &e) {
		return "", 0
	}
	return e.Code, e.Status
}

// TestCron: a job's life over the API, and what is refused with which code.
func TestCron(t *testing.T) {
	r := newRig(t)
	r.model.Respond(func(fakemodel.Request) fakemodel.Turn { return fakemodel.Text("done") })
	c := r.client
	j, err := c.CreateJob(ctx(t), "alice", localapi.NewJob{Name: "brief", Prompt: "say it", Schedule: "every 2h", Toolsets: []string{"todo"}})
	must(t, err)
	if j.State != "scheduled" || j.Schedule == "" || j.NextRun.IsZero() || j.Deliver != "local" {
		t.Errorf("created %+v", j)
	}
	name, none := "morning", []string{}
	j, err = c.EditJob(ctx(t), "alice", "brief", localapi.JobPatch{Name: &name, Toolsets: &none})
	must(t, err)
	if j.Name != "morning" || len(j.Toolsets) != 0 || j.Prompt != "say it" {
		t.Errorf("edited %+v", j)
	}
	j, err = c.PauseJob(ctx(t), "alice", j.ID, "holiday")
	must(t, err)
	if j.State != "paused" || j.PausedReason != "holiday" {
		t.Errorf("paused %+v", j)
	}
	_, err = c.ResumeJob(ctx(t), "alice", j.ID, localapi.ResumeJob{RunNow: true})
	if got, status := code(err); got != "invalid_request" || status != http.StatusBadRequest {
		t.Errorf("C-205 a recurring job takes no time: %v", err)
	}
	_, err = c.ResumeJob(ctx(t), "alice", j.ID, localapi.ResumeJob{})
	must(t, err)

	_, err = c.RunJob(ctx(t), "alice", j.ID, "just this once")
	must(t, err)
	n, err := c.TickJobs(ctx(t), "alice", true)
	must(t, err)
	runs, err := c.JobRuns(ctx(t), "alice", "morning", 5)
	must(t, err)
	if n != 1 || len(runs) != 1 || runs[0].Status != "completed" || runs[0].Lateness != "manual" || runs[0].Job != j.ID {
		t.Errorf("%d begun, %+v", n, runs)
	}
	s, err := c.CronStatus(ctx(t), "alice")
	must(t, err)
	if s.Jobs != 1 || s.Active != 1 || s.Next == nil || s.Next.ID != j.ID || s.Verdict != string(cron.NotReported) {
		t.Errorf("status %+v", s)
	}
	if _, err = c.RemoveJob(ctx(t), "alice", j.ID); err != nil {
		t.Error(err)
	}
	_, err = c.Job(ctx(t), "alice", j.ID)
	if got, status := code(err); got != localapi.CodeJobNotFound || status != http.StatusNotFound {
		t.Errorf("a job that is gone: %v", err)
	}
	_, err = c.CreateJob(ctx(t), "alice", localapi.NewJob{Prompt: "x", Schedule: "whenever"})
	if got, _ := code(err); got != "invalid_request" {
		t.Errorf("a schedule that is none: %v", err)
	}
}

// TestCronDeclared: a job that a declaration owns is changed there, and may be run.
func TestCronDeclared(t *testing.T) {
	r := newRig(t)
	p, _ := r.Profile("alice")
	jobs, err := p.Jobs()
	must(t, err)
	j, _, err := jobs.Declare(ctx(t), "schedule/brief", cron.NewJob{Name: "brief", Prompt: "x", Schedule: "every 2h"})
	must(t, err)
	_, pause := r.client.PauseJob(ctx(t), "alice", j.ID, "")
	_, remove := r.client.RemoveJob(ctx(t), "alice", j.ID)
	prompt := "y"
	_, edit := r.client.EditJob(ctx(t), "alice", j.ID, localapi.JobPatch{Prompt: &prompt})
	for _, err := range []error{pause, remove, edit} {
		if got, status := code(err); got != localapi.CodeJobDeclared || status != http.StatusConflict {
			t.Errorf("%v", err)
		}
	}
	if _, err := r.client.RunJob(ctx(t), "alice", j.ID, ""); err != nil {
		t.Error(err)
	}
}
