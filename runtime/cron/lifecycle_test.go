package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCreateRulesC108(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, refused string
		n             NewJob
	}{
		{"nothing to run", "nothing to run", NewJob{Schedule: "30m", Prompt: " ", Skills: []string{" "}}},
		{"skill only", "", NewJob{Schedule: "30m", Skills: []string{"s"}}},
		{"no agent, no script", "needs a script", NewJob{Schedule: "30m", Prompt: "p", NoAgent: true}},
		{"script only", "", NewJob{Schedule: "30m", Script: "/x/y.sh", NoAgent: true}},
		{"two monitors", "script or a URL", NewJob{Schedule: "30m", Prompt: "p", MonitorScript: "a", MonitorURL: "b"}},
		{"monitor without agent", "cannot watch", NewJob{Schedule: "30m", Script: "s", NoAgent: true, MonitorURL: "b"}},
		{"relative workdir", "not absolute", NewJob{Schedule: "30m", Prompt: "p", Workdir: "x"}},
		{"missing workdir", "not a directory", NewJob{Schedule: "30m", Prompt: "p", Workdir: dir + "/none"}},
		{"workdir", "", NewJob{Schedule: "30m", Prompt: "p", Workdir: dir}},
		{"reason without pause", "needs the job to be paused", NewJob{Schedule: "30m", Prompt: "p", PausedReason: "r"}},
		{"long past one-shot", "in the past", NewJob{Schedule: "2026-11-29T11:57:59", Prompt: "p"}},
		{"one-shot 120 s past", "", NewJob{Schedule: "2026-11-29T11:58:00", Prompt: "p"}},
		{"restarts the gateway", "would stop the gateway", NewJob{Schedule: "30m", Prompt: "please run hermes gateway  restart now"}},
		{"stops the gateway of a profile", "would stop the gateway", NewJob{Schedule: "30m", Prompt: "hermes --profile default gateway stop"}},
		{"talks about gateways", "", NewJob{Schedule: "30m", Prompt: "did any gateway restart today?"}},
		{"bad deliver", "not local", NewJob{Schedule: "30m", Prompt: "p", Deliver: "slack:C1,?"}},
		{"bad zone", "not known", NewJob{Schedule: "30m", Prompt: "p", Zone: "Mars/Base"}},
	} {
		_, err := build(c.n, testStart, time.UTC)
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.refused)
		}
	}
}

func TestCreateDefaultsC108(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("ä", 60)
	job := f.create(t, NewJob{Prompt: long, Schedule: "in 30m", Origin: &Origin{Platform: "slack", ChatID: "C1"}})
	if len([]rune(job.Name)) != 50 || *job.Repeat.Times != 1 || job.Deliver != "origin" || !job.NextRunAt.Equal(testStart.Add(30*time.Minute)) || len(job.ID) != 12 {
		t.Errorf("got %+v", job)
	}
	job = f.create(t, NewJob{Schedule: "0 9 * * *", Zone: "Asia/Kolkata", Paused: true, PausedReason: "later"})
	if job.Enabled || job.State != StatePaused || !job.NextRunAt.IsZero() || job.PausedReason != "later" || job.Repeat.Times != nil || job.Deliver != "local" {
		t.Errorf("got %+v", job)
	}
	job, err := f.Resume(t.Context(), job.ID, ResumeOptions{})
	if err != nil || job.NextRunAt.UTC().Hour() != 3 || !job.Enabled || !job.PausedAt.IsZero() {
		t.Errorf("resumed: %+v, %v", job, err)
	}
}

func TestReferencesC110(t *testing.T) {
	f := newFixture(t)
	a := f.create(t, NewJob{Schedule: "30m", Name: "Brief"})
	b := f.create(t, NewJob{Schedule: "30m", Name: "brief"})
	c := f.create(t, NewJob{Schedule: "30m", Name: a.ID})
	if got := f.job(t, a.ID); got.ID != a.ID {
		t.Errorf("an id must win over the name of %s", c.ID)
	}
	_, err := f.Pause(t.Context(), "BRIEF", "")
	if !errors.Is(err, ErrAmbiguous) || !strings.Contains(err.Error(), a.ID) || !strings.Contains(err.Error(), b.ID) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Remove(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Remove(t.Context(), b.ID); err != nil {
		t.Fatal(err)
	}
	if got := f.job(t, "bRIEF"); got.ID != a.ID {
		t.Errorf("got %s", got.ID)
	}
}

func TestEditC109(t *testing.T) {
	f := newFixture(t)
	job := f.create(t, NewJob{Schedule: "30m"})
	job, err := f.Edit(t.Context(), job.ID, Patch{Schedule: new("in 1h")})
	if err != nil || job.Repeat.Times == nil || *job.Repeat.Times != 1 || !job.NextRunAt.Equal(testStart.Add(time.Hour)) {
		t.Fatalf("to once: %+v, %v", job, err)
	}
	job, err = f.Edit(t.Context(), job.ID, Patch{Schedule: new("every 2h")})
	if err != nil || job.Repeat.Times != nil {
		t.Fatalf("to recurring: %+v, %v", job, err)
	}
	job, err = f.Edit(t.Context(), job.ID, Patch{Schedule: new("in 1h"), Repeat: new("forever")})
	if err != nil || job.Repeat.Times != nil {
		t.Fatalf("repeat given: %+v, %v", job, err)
	}
	if _, err = f.Edit(t.Context(), job.ID, Patch{Repeat: new("x")}); err == nil {
		t.Error("a repeat that is no number is accepted")
	}
	if got := f.job(t, job.ID); got.Schedule.Kind != Once {
		t.Error("a refused edit left something behind")
	}
}

func TestPauseResumeT119(t *testing.T) {
	f := newFixture(t)
	job := f.create(t, NewJob{Schedule: "0 13 * * *"})
	slot := job.NextRunAt
	if _, err := f.Pause(t.Context(), job.ID, "holiday"); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(2 * time.Hour)
	job, err := f.Resume(t.Context(), job.ID, ResumeOptions{})
	if err != nil || !job.NextRunAt.Equal(slot.Time) {
		t.Errorf("T-119: next is %s, want the slot that passed, %s (%v)", job.NextRunAt, slot, err)
	}
	once := f.create(t, NewJob{Schedule: "in 1h"})
	if _, err := f.Pause(t.Context(), once.ID, ""); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(2 * time.Hour)
	if _, err := f.Resume(t.Context(), once.ID, ResumeOptions{}); err == nil {
		t.Error("a one-shot resumes into the past")
	}
	if _, err := f.Resume(t.Context(), job.ID, ResumeOptions{RunNow: true}); err == nil {
		t.Error("C-205: a recurring job takes a time")
	}
	once, err = f.Resume(t.Context(), once.ID, ResumeOptions{RunNow: true})
	if err != nil || !once.NextRunAt.Equal(f.clock.Now()) {
		t.Errorf("run now: %+v, %v", once, err)
	}
}

func TestDeclaredJobs(t *testing.T) {
	f := newFixture(t)
	n := NewJob{Name: "brief", Prompt: "p", Schedule: "in 30m"}
	job, written, err := f.Declare(t.Context(), "Schedule team/brief", n)
	if err != nil || !written || job.DeclaredBy != "Schedule team/brief" {
		t.Fatalf("%+v, %v, %v", job, written, err)
	}
	f.clock.Step(10 * time.Minute)
	same, written, err := f.other(t, testOwner(2)).Declare(t.Context(), "Schedule team/brief", n)
	if err != nil || written || same.ID != job.ID {
		t.Errorf("declaring the same again writes: %+v, %v, %v", same, written, err)
	}
	if _, err := f.Edit(t.Context(), job.ID, Patch{Prompt: new("mine")}); !errors.Is(err, ErrDeclared) || !strings.Contains(err.Error(), "Schedule team/brief") {
		t.Errorf("edit: %v", err)
	}
	for name, err := range map[string]error{
		"pause":  second(f.Pause(t.Context(), "brief", "")),
		"resume": second(f.Resume(t.Context(), "brief", ResumeOptions{})),
		"remove": second(f.Remove(t.Context(), "brief")),
	} {
		if !errors.Is(err, ErrDeclared) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n.Schedule, n.Paused, n.PausedReason = "0 9 * * *", true, "suspended"
	job, written, err = f.Declare(t.Context(), "Schedule team/brief", n)
	if err != nil || !written || job.ID != same.ID || job.Schedule.Kind != Cron || job.State != StatePaused || job.Repeat.Times != nil {
		t.Errorf("changed: %+v, %v, %v", job, written, err)
	}
	if _, err := f.Trigger(t.Context(), job.ID, ""); !errors.Is(err, ErrDeclared) {
		t.Errorf("a suspended declaration is triggered: %v", err)
	}
	n.Paused, n.PausedReason = false, ""
	job, _, err = f.Declare(t.Context(), "Schedule team/brief", n)
	if err != nil || job.State != StateScheduled || job.NextRunAt.IsZero() {
		t.Errorf("resumed: %+v, %v", job, err)
	}
	if err := f.Undeclare(t.Context(), "Schedule team/brief"); err != nil {
		t.Fatal(err)
	}
	if jobs, _ := f.Jobs(); len(jobs) != 0 {
		t.Errorf("left: %+v", jobs)
	}
}

func second[T any](_ T, err error) error { return err }
