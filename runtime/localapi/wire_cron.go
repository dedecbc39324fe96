package localapi

import (
	"slices"
	"time"

	"hermes.dev/hermes/runtime/cron"
)

// CronStatus is how a profile's scheduled work is.
type CronStatus struct {
	// Verdict is NotReported, Stalled, StaleCode, Failing or Healthy; Message says it for people.
	Verdict string `json:"verdict"`
	Message string `json:"message"`
	// Heartbeat and Success are when the ticker was last seen and when it last succeeded.
	Heartbeat time.Time `json:"heartbeat,omitzero"`
	Success   time.Time `json:"success,omitzero"`
	// Error of the newest tick, empty when that went well.
	Error string `json:"error,omitempty"`
	// Jobs counts all, Active those that may fire, Overdue those whose time is more than 15 minutes past.
	Jobs    int `json:"jobs"`
	Active  int `json:"active"`
	Overdue int `json:"overdue"`
	// CatchUps counts the missed occurrences that were caught up.
	CatchUps int `json:"catch_ups"`
	// Next is the job whose turn comes first, or is most overdue.
	Next *Job `json:"next,omitempty"`
	// Running are the ids of the jobs that run now.
	Running []string `json:"running,omitempty"`
}

// Job is a scheduled job.
type Job struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Prompt   string   `json:"prompt,omitempty"`
	Skills   []string `json:"skills,omitempty"`
	Model    string   `json:"model,omitempty"`
	Provider string   `json:"provider,omitempty"`
	Toolsets []string `json:"toolsets,omitempty"`
	Schedule string   `json:"schedule"`
	Timezone string   `json:"timezone,omitempty"`
	// State is scheduled, paused, completed or error; running says that it runs now.
	State        string `json:"state"`
	Running      bool   `json:"running,omitempty"`
	PausedReason string `json:"paused_reason,omitempty"`
	// Times is how often it runs at all, absent for ever; Completed how often it has.
	Times     *int      `json:"times,omitempty"`
	Completed int       `json:"completed"`
	NextRun   time.Time `json:"next_run,omitzero"`
	// OverdueSeconds is how far NextRun is past when that is more than 900.
	OverdueSeconds int64     `json:"overdue_seconds,omitempty"`
	LastRun        time.Time `json:"last_run,omitzero"`
	LastStatus     string    `json:"last_status,omitempty"`
	LastError      string    `json:"last_error,omitempty"`
	DeliveryError  string    `json:"delivery_error,omitempty"`
	Unverified     []string  `json:"delivery_unverified,omitempty"`
	Queued         []string  `json:"delivery_queued,omitempty"`
	FireError      string    `json:"fire_error,omitempty"`
	FailureStreak  int       `json:"failure_streak,omitempty"`
	Deliver        string    `json:"deliver"`
	FailureDeliver string    `json:"failure_deliver,omitempty"`
	// DeclaredBy names the declaration that owns it; it is changed there.
	DeclaredBy string `json:"declared_by,omitempty"`
}

func jobInfo(j cron.Job, running []string, now time.Time) Job {
	out := Job{
		ID: j.ID, Name: j.Name, Prompt: j.Prompt, Skills: j.Skills, Model: j.Model, Provider: j.Provider, Toolsets: j.EnabledToolsets,
		Schedule: j.ScheduleDisplay, Timezone: j.Schedule.Zone, State: string(j.State), Running: slices.Contains(running, j.ID), PausedReason: j.PausedReason,
		Times: j.Repeat.Times, Completed: j.Repeat.Completed, NextRun: j.NextRunAt.Time, OverdueSeconds: int64(cron.Overdue(j, now).Seconds()),
		LastRun: j.LastRunAt.Time, LastStatus: j.LastStatus, LastError: j.LastError, DeliveryError: j.LastDeliveryError,
		Unverified: j.LastDeliveryUnverified, Queued: j.LastDeliveryQueued, FailureStreak: j.FailureStreak,
		Deliver: string(j.Deliver), FailureDeliver: string(j.FailureDeliver), DeclaredBy: j.DeclaredBy,
	}
	if j.LastFireError != nil {
		out.FireError = j.LastFireError.Detail
	}
	if !j.Enabled && j.State == cron.StateScheduled {
		out.State = string(cron.StatePaused) // what is shown follows Enabled (C-111)
	}
	return out
}

type jobList struct {
	Data []Job `json:"data"`
}

// NewJob is the body of a request for a job.
type NewJob struct {
	Name   string   `json:"name,omitempty"`
	Prompt string   `json:"prompt,omitempty"`
	Skills []string `json:"skills,omitempty"`
	// Schedule is what a person writes: "every 2h", "weekdays at 9am", "0 9 * * 1-5", "in 30m", a date and time.
	Schedule string `json:"schedule"`
	Timezone string `json:"timezone,omitempty"`
	// Repeat is a number, "forever" or "once"; absent is once for a single time and for ever otherwise.
	Repeat         *string  `json:"repeat,omitempty"`
	Paused         bool     `json:"paused,omitempty"`
	Deliver        string   `json:"deliver,omitempty"`
	FailureDeliver string   `json:"failure_deliver,omitempty"`
	Model          string   `json:"model,omitempty"`
	Provider       string   `json:"provider,omitempty"`
	Toolsets       []string `json:"toolsets,omitempty"`
	ContextFrom    []string `json:"context_from,omitempty"`
}

func (n NewJob) job() cron.NewJob {
	return cron.NewJob{
		Name: n.Name, Prompt: n.Prompt, Skills: n.Skills, Schedule: n.Schedule, Zone: n.Timezone, Repeat: n.Repeat, Paused: n.Paused,
		Deliver: cron.Deliver(n.Deliver), FailureDeliver: cron.Deliver(n.FailureDeliver), Model: n.Model, Provider: n.Provider,
		EnabledToolsets: n.Toolsets, ContextFrom: n.ContextFrom,
	}
}

// JobPatch names what is to change of a job; absent fields stay.
type JobPatch struct {
	Name           *string   `json:"name,omitempty"`
	Prompt         *string   `json:"prompt,omitempty"`
	Skills         *[]string `json:"skills,omitempty"`
	Schedule       *string   `json:"schedule,omitempty"`
	Timezone       *string   `json:"timezone,omitempty"`
	Repeat         *string   `json:"repeat,omitempty"`
	Deliver        *string   `json:"deliver,omitempty"`
	FailureDeliver *string   `json:"failure_deliver,omitempty"`
	Model          *string   `json:"model,omitempty"`
	Provider       *string   `json:"provider,omitempty"`
	Toolsets       *[]string `json:"toolsets,omitempty"`
	ContextFrom    *[]string `json:"context_from,omitempty"`
}

func (p JobPatch) patch() cron.Patch {
	return cron.Patch{
		Name: p.Name, Prompt: p.Prompt, Skills: p.Skills, Schedule: p.Schedule, Zone: p.Timezone, Repeat: p.Repeat,
		Deliver: (*cron.Deliver)(p.Deliver), FailureDeliver: (*cron.Deliver)(p.FailureDeliver), Model: p.Model, Provider: p.Provider,
		EnabledToolsets: p.Toolsets, ContextFrom: p.ContextFrom,
	}
}

// PauseJob is the body of a pause.
type PauseJob struct {
	Reason string `json:"reason,omitempty"`
}

// ResumeJob is the body of a resume; At and RunNow are for a one-shot, and exclude each other.
type ResumeJob struct {
	At     time.Time `json:"at,omitzero"`
	RunNow bool      `json:"run_now,omitempty"`
}

// RunJob is the body of a run that somebody asks for.
type RunJob struct {
	// Prompt replaces the job's for this run.
	Prompt string `json:"prompt,omitempty"`
}

// Acknowledged answers an acknowledgement.
type Acknowledged struct {
	// Incidents is how many were silenced until the job succeeds.
	Incidents int `json:"incidents"`
}

// Ticked answers a tick.
type Ticked struct {
	// Dispatched is how many jobs were handed out.
	Dispatched int `json:"dispatched"`
}

// JobRun is a row of the ledger.
type JobRun struct {
	ID  string `json:"id"`
	Job string `json:"job"`
	// Status is claimed, running, completed, failed, unknown or skipped.
	Status    string    `json:"status"`
	Claimed   time.Time `json:"claimed,omitzero"`
	Started   time.Time `json:"started,omitzero"`
	Finished  time.Time `json:"finished,omitzero"`
	Scheduled time.Time `json:"scheduled,omitzero"`
	// Lateness is on_time, late, catch_up, skipped or manual.
	Lateness    string  `json:"lateness,omitempty"`
	LateSeconds float64 `json:"late_seconds,omitempty"`
	Error       string  `json:"error,omitempty"`
	Delivery    string  `json:"delivery,omitempty"`
}

func jobRun(e cron.Execution) JobRun {
	return JobRun{
		ID: e.ID, Job: e.JobID, Status: string(e.Status), Claimed: e.ClaimedAt, Started: e.StartedAt, Finished: e.FinishedAt, Scheduled: e.Scheduled,
		Lateness: string(e.Lateness), LateSeconds: e.Late.Seconds(), Error: e.Error, Delivery: e.DeliveryOutcome,
	}
}

type runList struct {
	Data []JobRun `json:"data"`
}
