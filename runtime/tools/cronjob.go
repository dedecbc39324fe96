package tools

import (
	"context"
	"fmt"
	"strings"
)

const toolsetCron = "cronjob"

// CronRequest is one call of cronjob_manage. Empty fields of an edit stay as they are.
type CronRequest struct {
	Action   string `json:"action"`
	Job      string `json:"job"`
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
	Prompt   string `json:"prompt"`
	Repeat   string `json:"repeat"`
	Deliver  string `json:"deliver"`
	Reason   string `json:"reason"`
}

// CronManager changes the profile's scheduled jobs for an agent and answers with what it should read. session is where
// the agent is talked with.
type CronManager func(ctx context.Context, session string, r CronRequest) (string, error)

// cronNeeds says which fields an action cannot do without.
var cronNeeds = map[string][]string{
	"create": {"schedule", "prompt"}, "list": nil, "edit": {"job"}, "pause": {"job"}, "resume": {"job"}, "run": {"job"}, "remove": {"job"},
}

func (s *Set) cronTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        "cronjob_manage",
			Description: "Schedule prompts for later or again and again, in sessions of their own where nobody can be asked: write a prompt that stands alone. The answer of a run is delivered to this conversation unless deliver says local.",
			Parameters: object(map[string]any{
				"action":   oneOf("What to do.", "create", "list", "edit", "pause", "resume", "run", "remove"),
				"job":      text("The job's id or name; for everything but create and list."),
				"name":     text("A short name."),
				"schedule": text(`When: "every 2h", "weekdays at 9am", "in 30m", "0 9 * * 1-5", or a date and time.`),
				"prompt":   text("What to do at that time; complete in itself."),
				"repeat":   text(`How often it runs: a number, "forever" or "once".`),
				"deliver":  text("origin (this conversation) or local (only kept)."),
				"reason":   text("Why it is paused."),
			}, "action"),
		},
		Toolset:   toolsetCron,
		Approval:  ApprovalPerTool,
		Available: func() bool { return s.config.Cron != nil },
		Missing:   "cron.allow_agent_scheduling is off: set it to true in spec.config to let the agent schedule prompts",
		Plan: func(c Call) (Plan, error) {
			a, err := decode[CronRequest](c)
			what := strings.TrimSpace(a.Job + " " + a.Name + " " + a.Schedule)
			return Plan{Summary: oneLine("scheduled jobs: " + a.Action + " " + what), ReadOnly: a.Action == "list"}, err
		},
		Handler: s.cronManage,
	}
}

func (s *Set) cronManage(ctx context.Context, c Call) (Result, error) {
	a, err := decode[CronRequest](c)
	if err != nil {
		return Result{}, err
	}
	given := map[string]string{"job": a.Job, "schedule": a.Schedule, "prompt": a.Prompt}
	for _, field := range cronNeeds[a.Action] {
		if strings.TrimSpace(given[field]) == "" {
			return Result{}, fmt.Errorf("%s needs %s", a.Action, field)
		}
	}
	answer, err := s.config.Cron(ctx, c.session, a)
	return Result{Content: answer}, err
}
