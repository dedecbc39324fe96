package cron

import (
	"context"
	"time"
)

// Run is one execution of a job.
type Run struct {
	// Job is the record as it was claimed.
	Job Job
	// ExecutionID names the run in the ledger; empty when the ledger could not be written.
	ExecutionID string
	// Prompt is what to run; it differs from the job's for a manual run that brought its own.
	Prompt string
	// Occurrence is the occurrence the run uses up, zero for a manual run.
	Occurrence time.Time
	// Manual says that a person asked.
	Manual bool
}

// Outcome is how a run ended. The zero value is an agent that said nothing, which is a failure.
type Outcome struct {
	// Text is the agent's final answer or a script's output.
	Text string
	// Err is why the run failed, nil when it ran to its end.
	Err error
	// Script says that no agent spoke, so that an agent's markers mean nothing and an empty text is fine.
	Script bool
	// APICalls counts the answers that a model began; Unreachable says that the failure was of the network.
	APICalls    int
	Unreachable bool
	// QuotaWait is how long a provider asked to be left alone, 0 when it did not.
	QuotaWait time.Duration
	// Blocked is what must be configured before the job can run at all, empty for nothing. No model was asked.
	Blocked string
}

// Runner runs a prompt in a fresh session of the profile. It returns soon after ctx ends.
type Runner interface {
	Run(ctx context.Context, r Run) Outcome
}

// Receipt is what is known of a delivery.
type Receipt struct {
	// Queued says that the text waits with its recipient and was not read by it yet.
	Queued bool
	// Unverified says that the platform took the text and gave no evidence of it.
	Unverified bool
}

// Deliverer brings a text to a target. Failure says that the text is a notice of failure.
type Deliverer interface {
	Deliver(ctx context.Context, to Target, text string, failure bool) (Receipt, error)
}
