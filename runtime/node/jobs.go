package node

import (
	"context"
	"strconv"
	"strings"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/cron"
)

// JobStore is the job store of one open profile. *cron.Store is one.
type JobStore interface {
	// Declare makes the job that owner declares what n says, and reports whether anything had to be written.
	Declare(ctx context.Context, owner string, n cron.NewJob) (cron.Job, bool, error)
	// Undeclare removes the job that owner declared. It is no error when there is none.
	Undeclare(ctx context.Context, owner string) error
	// Jobs returns all jobs, also those that a person or an agent made.
	Jobs() ([]cron.Job, error)
	// Revision differs after every change of the store, whoever made it. It is cheap.
	Revision() (string, error)
}

var _ JobStore = (*cron.Store)(nil)

// ownerPrefix begins the owner of every job that a Schedule of the namespace declares.
func ownerPrefix(namespace string) string { return "Schedule " + namespace + "/" }

// ownerOf is the owner of a Schedule's job. The UID keeps a Schedule that is made again under its old name from taking
// over a job that has run.
func ownerOf(s *v1alpha1.Schedule) string {
	return ownerPrefix(s.Namespace) + s.Name + " (" + string(s.UID) + ")"
}

// newJob is the job that a Schedule declares.
func newJob(s *v1alpha1.Schedule) cron.NewJob {
	n := cron.NewJob{
		Name: s.Name, Prompt: s.Spec.Prompt, Skills: s.Spec.Skills, Model: s.Spec.Model,
		Schedule: s.Spec.Schedule, Zone: s.Spec.Timezone, Deliver: cron.TargetLocal,
	}
	if len(s.Spec.Deliver) > 0 {
		n.Deliver = cron.Deliver(strings.Join(s.Spec.Deliver, ","))
	}
	if s.Spec.Repeat != nil {
		times := strconv.Itoa(int(*s.Spec.Repeat))
		n.Repeat = &times
	}
	if s.Spec.Suspend {
		n.Paused, n.PausedReason = true, "spec.suspend of its Schedule"
	}
	return n
}
