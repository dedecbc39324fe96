package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/cronview"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/cmd/hermes/internal/sessions"
	"hermes.dev/hermes/runtime/localapi"
)

// changeJob runs a change and says what became of the job.
func (c *cli) changeJob(ctx context.Context, f *cronFlags, done string, change func(*reach.Access) (localapi.Job, error)) error {
	return c.withCron(ctx, f, func(a *reach.Access) error {
		j, err := change(a)
		if err != nil {
			return err
		}
		if printed, err := c.printAs(f.output, j, j.ID); printed || err != nil {
			return err
		}
		fmt.Fprintf(c.out, "job/%s %q %s", j.ID, j.Name, done)
		if next := cronview.Next(j, c.clock.Now()); next != "-" {
			fmt.Fprintf(c.out, ", next run %s", next)
		}
		fmt.Fprintln(c.out)
		if a.Direct && done != "removed" {
			fmt.Fprintf(c.err, "note: no gateway serves profile %s: hermes cron tick runs what is due\n", a.Profile)
		}
		return nil
	})
}

// jobFlags are what can be said about a job.
type jobFlags struct {
	name, prompt, schedule, timezone, repeat, deliver, failureDeliver, model, provider string
	skills, toolsets, context                                                          []string
}

func (j *jobFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&j.name, "name", "", "name of the job (default: the beginning of its prompt)")
	flags.StringVar(&j.timezone, "timezone", "", "IANA zone of the schedule (default: the profile's)")
	flags.StringVar(&j.repeat, "repeat", "", "how often it runs: a number, forever or once")
	flags.StringVar(&j.deliver, "deliver", "", "where the answer goes: local, origin, session:ID")
	flags.StringVar(&j.failureDeliver, "failure-deliver", "", "where failures are told (default: as --deliver)")
	flags.StringVar(&j.model, "model", "", "model of its runs (default: the profile's)")
	flags.StringVar(&j.provider, "provider", "", "provider of that model")
	flags.StringSliceVar(&j.skills, "skill", nil, "skill to follow; may be repeated")
	flags.StringSliceVar(&j.toolsets, "toolset", nil, "toolset of its runs; may be repeated (default: hermes-cron)")
	flags.StringSliceVar(&j.context, "context-from", nil, "job whose newest output its runs are told; may be repeated")
}

func newCronCreate(c *cli, f *cronFlags) *cobra.Command {
	var j jobFlags
	var paused bool
	command := &cobra.Command{
		Use:     "create SCHEDULE [PROMPT]",
		Aliases: []string{"add"},
		Short:   "Make a job",
		Long: `Make a job. SCHEDULE is what a person writes: "every 2h", "weekdays at 9am", "0 9 * * 1-5", "in 30m", or a date and
time.`,
		Example: `  hermes cron create "every day at 7am" "Summarise what happened overnight." --name morning`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := localapi.NewJob{
				Name: j.name, Schedule: args[0], Timezone: j.timezone, Paused: paused, Deliver: j.deliver, FailureDeliver: j.failureDeliver,
				Model: j.model, Provider: j.provider, Skills: j.skills, Toolsets: j.toolsets, ContextFrom: j.context,
			}
			if len(args) > 1 {
				n.Prompt = args[1]
			}
			if cmd.Flags().Changed("repeat") {
				n.Repeat = &j.repeat
			}
			return c.changeJob(cmd.Context(), f, "created", func(a *reach.Access) (localapi.Job, error) {
				return a.CreateJob(cmd.Context(), a.Profile, n)
			})
		},
	}
	j.register(command)
	command.Flags().BoolVar(&paused, "paused", false, "do not run it until it is resumed")
	return command
}

// changed is the value of a flag that was given, nil for one that was not.
func changed[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

func newCronEdit(c *cli, f *cronFlags) *cobra.Command {
	var j jobFlags
	command := &cobra.Command{
		Use:     "edit JOB",
		Short:   "Change a job; what no flag names stays",
		Example: `  hermes cron edit morning --schedule "every day at 8am"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := localapi.JobPatch{
				Name: changed(cmd, "name", j.name), Prompt: changed(cmd, "prompt", j.prompt), Schedule: changed(cmd, "schedule", j.schedule),
				Timezone: changed(cmd, "timezone", j.timezone), Repeat: changed(cmd, "repeat", j.repeat), Deliver: changed(cmd, "deliver", j.deliver),
				FailureDeliver: changed(cmd, "failure-deliver", j.failureDeliver), Model: changed(cmd, "model", j.model), Provider: changed(cmd, "provider", j.provider),
				Skills: changed(cmd, "skill", j.skills), Toolsets: changed(cmd, "toolset", j.toolsets), ContextFrom: changed(cmd, "context-from", j.context),
			}
			if p == (localapi.JobPatch{}) {
				return exit.Usagef("nothing is to be changed: see hermes cron edit --help")
			}
			return c.changeJob(cmd.Context(), f, "changed", func(a *reach.Access) (localapi.Job, error) {
				return a.EditJob(cmd.Context(), a.Profile, args[0], p)
			})
		},
	}
	j.register(command)
	command.Flags().StringVar(&j.prompt, "prompt", "", "what to do")
	command.Flags().StringVar(&j.schedule, "schedule", "", "when to do it")
	return command
}

func newCronPause(c *cli, f *cronFlags) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use:   "pause JOB",
		Short: "Keep a job from running until it is resumed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeJob(cmd.Context(), f, "paused", func(a *reach.Access) (localapi.Job, error) {
				return a.PauseJob(cmd.Context(), a.Profile, args[0], reason)
			})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for whoever reads the list")
	return command
}

func newCronResume(c *cli, f *cronFlags) *cobra.Command {
	var at string
	var now bool
	command := &cobra.Command{
		Use:   "resume JOB",
		Short: "Let a paused job run again",
		Long:  `Let a paused job run again. --at and --run-now give a one-shot another time.`,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			when, err := sessions.ParseWhen(at, c.clock.Now(), time.Local)
			if err != nil {
				return exit.Usagef("--at: %w", err)
			}
			return c.changeJob(cmd.Context(), f, "resumed", func(a *reach.Access) (localapi.Job, error) {
				return a.ResumeJob(cmd.Context(), a.Profile, args[0], localapi.ResumeJob{At: when, RunNow: now})
			})
		},
	}
	command.Flags().StringVar(&at, "at", "", "when a one-shot runs, such as 2027-01-31T09:00")
	command.Flags().BoolVar(&now, "run-now", false, "run a one-shot at the next tick")
	command.MarkFlagsMutuallyExclusive("at", "run-now")
	return command
}

func newCronRun(c *cli, f *cronFlags) *cobra.Command {
	var prompt string
	var wait bool
	command := &cobra.Command{
		Use:   "run JOB",
		Short: "Run a job once now, whatever its schedule says",
		Long: `Run a job once now, whatever its schedule says; a paused one is resumed. A gateway begins it at once. When none serves
the profile it waits for one, or runs in this command with --wait. With --wait it returns when the run has
ended, and with 1 when that failed; hermes cron runs shows more.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !wait {
				return c.changeJob(cmd.Context(), f, "is due now", func(a *reach.Access) (localapi.Job, error) {
					return a.RunJob(cmd.Context(), a.Profile, args[0], prompt)
				})
			}
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error { return c.runJobToEnd(cmd.Context(), f, a, args[0], prompt) })
		},
	}
	command.Flags().StringVar(&prompt, "prompt", "", "run this instead of the job's prompt")
	command.Flags().BoolVar(&wait, "wait", false, "return when it has ended, with how")
	return command
}

// runJobToEnd runs a job and waits for its row in the ledger to be a final one.
func (c *cli) runJobToEnd(ctx context.Context, f *cronFlags, a *reach.Access, ref, prompt string) error {
	before, err := a.JobRuns(ctx, a.Profile, ref, 1)
	if err != nil {
		return err
	}
	j, err := a.RunJob(ctx, a.Profile, ref, prompt)
	if err != nil {
		return err
	}
	if _, err := a.TickJobs(ctx, a.Profile, true); err != nil {
		return err
	}
	runs, err := a.JobRuns(ctx, a.Profile, j.ID, 1)
	if err != nil {
		return err
	}
	if len(runs) == 0 || len(before) > 0 && before[0].ID == runs[0].ID {
		return exit.Busyf("job %s was not begun: it runs already, or another gateway runs the profile's jobs", j.ID)
	}
	run := runs[0]
	if printed, err := c.printAs(f.output, run, run.ID); err != nil {
		return err
	} else if !printed {
		fmt.Fprintf(c.out, "job/%s %q %s\n", j.ID, j.Name, run.Status)
	}
	if run.Status != "completed" {
		return fmt.Errorf("job %s: %w", j.ID, errors.New(run.Error))
	}
	return nil
}

func newCronRemove(c *cli, f *cronFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "remove JOB",
		Aliases: []string{"rm", "delete"},
		Short:   "Delete a job; what it said stays in its outputs",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeJob(cmd.Context(), f, "removed", func(a *reach.Access) (localapi.Job, error) {
				j, err := a.RemoveJob(cmd.Context(), a.Profile, args[0])
				j.NextRun = time.Time{}
				return j, err
			})
		},
	}
}

func newCronAck(c *cli, f *cronFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "ack JOB",
		Short: "Stop telling of a job's failure until it succeeds",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				n, err := a.AcknowledgeJob(cmd.Context(), a.Profile, args[0])
				if err == nil {
					fmt.Fprintf(c.out, "%s silenced until the job succeeds\n", sessions.Count(int64(n), "incident"))
				}
				return err
			})
		},
	}
}
