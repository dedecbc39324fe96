package cron

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// State is the lifecycle of a job. What is shown follows Enabled; State and PausedAt are a second gate before firing (C-111).
type State string

const (
	// StateScheduled waits for its next run.
	StateScheduled State = "scheduled"
	// StatePaused was stopped by a person.
	StatePaused State = "paused"
	// StateCompleted has run as often as it should.
	StateCompleted State = "completed"
	// StateError cannot go on. A recurring job in this state is recoverable.
	StateError State = "error"
)

// Values of last_status.
const (
	StatusOK             = "ok"
	StatusError          = "error"
	StatusDeliveryFailed = "delivery_failed"
	StatusBlocked        = "blocked_config"
	StatusInterrupted    = "interrupted"
	StatusMissed         = "missed"
)

// Repeat bounds how often a job runs. Times nil is for ever.
type Repeat struct {
	Times     *int `json:"times"`
	Completed int  `json:"completed"`
}

// Dispatch records the newest occurrence that was handed out or skipped, and how late.
type Dispatch struct {
	ScheduledAt     Instant  `json:"scheduled_at"`
	DispatchedAt    Instant  `json:"dispatched_at"`
	LatenessSeconds int64    `json:"lateness_seconds"`
	Kind            Lateness `json:"kind"`
	// Reason says why it was late or skipped; empty when on time.
	Reason string `json:"reason,omitempty"`
}

// ClaimStamp says who holds something since when.
type ClaimStamp struct {
	At Instant `json:"at"`
	By string  `json:"by"`
	// AdoptedBy overrides By for the question whether the owner lives.
	AdoptedBy string `json:"adopted_by,omitempty"`
}

// PendingSlot is an occurrence that was advanced past and not claimed yet (C-155).
type PendingSlot struct {
	ScheduledAt Instant `json:"scheduled_at"`
	At          Instant `json:"at"`
	By          string  `json:"by"`
}

// FireError is the newest failure to start a run at all. Detail is at most 500 characters.
type FireError struct {
	At     Instant `json:"at"`
	Detail string  `json:"detail"`
}

// UnreachableRetry is a place on the ladder of retries after a model could not be reached (C-139).
type UnreachableRetry struct {
	Attempt int `json:"attempt"`
}

// Job is one record of the job file (C-106). It is a value: whoever changes one replaces its slices and pointers and
// never writes through them.
type Job struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Prompt   string   `json:"prompt"`
	Skills   []string `json:"skills"`
	Skill    string   `json:"skill"`
	Model    string   `json:"model"`
	Provider string   `json:"provider"`
	BaseURL  string   `json:"base_url"`

	ReasoningEffort string          `json:"reasoning_effort,omitempty"`
	Script          string          `json:"script"`
	NoAgent         bool            `json:"no_agent"`
	MonitorScript   string          `json:"monitor_script,omitempty"`
	MonitorURL      string          `json:"monitor_url,omitempty"`
	MonitorState    json.RawMessage `json:"monitor_state,omitempty"`
	ContextFrom     []string        `json:"context_from,omitempty"`

	Schedule        Schedule `json:"schedule"`
	ScheduleDisplay string   `json:"schedule_display"`
	Repeat          Repeat   `json:"repeat"`
	Enabled         bool     `json:"enabled"`
	State           State    `json:"state"`
	PausedAt        Instant  `json:"paused_at"`
	PausedReason    string   `json:"paused_reason"`
	CreatedAt       Instant  `json:"created_at"`
	NextRunAt       Instant  `json:"next_run_at"`

	LastRunAt              Instant           `json:"last_run_at"`
	LastStatus             string            `json:"last_status"`
	LastError              string            `json:"last_error"`
	LastDeliveryError      string            `json:"last_delivery_error"`
	LastDeliveryUnverified []string          `json:"last_delivery_unverified,omitempty"`
	LastDeliveryQueued     []string          `json:"last_delivery_queued,omitempty"`
	LastFireError          *FireError        `json:"last_fire_error,omitempty"`
	LastDispatch           *Dispatch         `json:"last_dispatch,omitempty"`
	FailureStreak          int               `json:"failure_streak"`
	RunClaim               *ClaimStamp       `json:"run_claim,omitempty"`
	FireClaim              *ClaimStamp       `json:"fire_claim,omitempty"`
	PendingSlot            *PendingSlot      `json:"pending_slot,omitempty"`
	ManualRunAt            Instant           `json:"manual_run_at,omitzero"`
	ManualRunPrompt        string            `json:"manual_run_prompt,omitempty"`
	QuotaHoldUntil         Instant           `json:"quota_hold_until,omitzero"`
	UnreachableRetry       *UnreachableRetry `json:"unreachable_retry,omitempty"`
	PreflightAlerted       bool              `json:"preflight_alerted,omitempty"`

	Deliver         Deliver  `json:"deliver"`
	FailureDeliver  Deliver  `json:"failure_deliver,omitempty"`
	Origin          *Origin  `json:"origin"`
	AttachToSession *bool    `json:"attach_to_session,omitempty"`
	EnabledToolsets []string `json:"enabled_toolsets"`
	Workdir         string   `json:"workdir"`

	// DeclaredBy names the declaration that owns the job, empty for a person's or an agent's own job. What owns a job is
	// the only one to change it.
	DeclaredBy string `json:"declared_by,omitempty"`

	// extra holds fields of newer writers, which are kept as they are.
	extra map[string]json.RawMessage
}

// Origin is the chat a job was created in.
type Origin struct {
	Platform  string `json:"platform"`
	ChatID    string `json:"chat_id"`
	ThreadID  string `json:"thread_id,omitempty"`
	MessageID string `json:"message_id,omitempty"`
	ChatName  string `json:"chat_name,omitempty"`
}

// Deliver is the text of C-220; in a file it may also be a list, which is joined.
type Deliver string

// UnmarshalJSON reads a text, a list of texts, or null.
func (d *Deliver) UnmarshalJSON(raw []byte) error {
	var list []string
	if err := json.Unmarshal(raw, &list); err == nil {
		*d = Deliver(strings.Join(list, ","))
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	*d = Deliver(text)
	return nil
}

// Recurring reports whether the job has more than one occurrence.
func (j Job) Recurring() bool { return j.Schedule.Recurring() }

// Terminal reports whether the job is done for good: completed or failed, except that a recurring job recovers from
// an error.
//
// Implements C-111.
func (j Job) Terminal() bool {
	return j.State == StateCompleted || (j.State == StateError && !j.Recurring())
}

// Paused reports whether a pause marker is set, whatever Enabled says.
func (j Job) Paused() bool { return j.State == StatePaused || !j.PausedAt.IsZero() }

// Runnable reports whether the job may fire without being forced.
func (j Job) Runnable() bool { return j.Enabled && !j.Paused() && !j.Terminal() }

// lastUsed is the newest occurrence that was used, which the search for the next one needs to know.
func (j Job) lastUsed() time.Time {
	if j.LastDispatch == nil {
		return time.Time{}
	}
	return j.LastDispatch.ScheduledAt.Time
}

// manual reports whether the job is due because a person asked.
func (j Job) manual() bool { return !j.ManualRunAt.IsZero() && j.ManualRunAt.Equal(j.NextRunAt.Time) }

// atLimit reports whether the job has run as often as it should. A one-shot has one occurrence, whatever its repeat says.
func (j Job) atLimit() bool {
	if j.Schedule.Kind == Once {
		return j.Repeat.Completed >= 1
	}
	return j.Repeat.Times != nil && j.Repeat.Completed >= *j.Repeat.Times
}

// Clone returns a job that shares nothing with j.
func (j Job) Clone() Job {
	j.Skills, j.ContextFrom = slices.Clone(j.Skills), slices.Clone(j.ContextFrom)
	j.EnabledToolsets = slices.Clone(j.EnabledToolsets)
	j.LastDeliveryUnverified, j.LastDeliveryQueued = slices.Clone(j.LastDeliveryUnverified), slices.Clone(j.LastDeliveryQueued)
	j.MonitorState = slices.Clone(j.MonitorState)
	j.Repeat.Times = copied(j.Repeat.Times)
	j.LastFireError, j.LastDispatch = copied(j.LastFireError), copied(j.LastDispatch)
	j.RunClaim, j.FireClaim, j.PendingSlot = copied(j.RunClaim), copied(j.FireClaim), copied(j.PendingSlot)
	j.UnreachableRetry, j.Origin, j.AttachToSession = copied(j.UnreachableRetry), copied(j.Origin), copied(j.AttachToSession)
	return j
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
