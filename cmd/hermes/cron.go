package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/cronview"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/runtime/localapi"
)

// cronFlags are what every verb about scheduled jobs takes.
type cronFlags struct {
	reach.Flags
	output string
}

func newCron(c *cli) *cobra.Command {
	var f cronFlags
	command := &cobra.Command{
		Use:   "cron",
		Short: "See and change the scheduled jobs of a profile",
		Long: `See and change the scheduled jobs of a profile: prompts on a clock.

While a gateway serves the profile everything goes through it; when none does, the job file is read and changed here,
and nothing runs until a gateway serves the profile or hermes cron tick runs what is due. A job goes by its id or its name.`,
		Example: `  hermes cron create "every weekday at 8am" "What is on my calendar today?" --name brief
  hermes cron list
  hermes cron run brief --wait`,
		Args: knownCronVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.Register(command.PersistentFlags())
	command.PersistentFlags().StringVarP(&f.output, "output", "o", "table", "table, wide, json, yaml or name")
	command.AddCommand(
		newCronStatus(c, &f), newCronList(c, &f), newCronRuns(c, &f), newCronDoctor(c, &f), newCronTick(c, &f),
		newCronCreate(c, &f), newCronEdit(c, &f), newCronPause(c, &f), newCronResume(c, &f), newCronRun(c, &f), newCronRemove(c, &f), newCronAck(c, &f),
	)
	return command
}

// knownCronVerb refuses a sub-command that there is none of with code 1.
//
// Implements the unknown sub-command of C-205.
func knownCronVerb(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("hermes cron has no command %q: see hermes cron --help", args[0])
	}
	return nil
}

// withCron runs fn with the profile that is meant.
func (c *cli) withCron(ctx context.Context, f *cronFlags, fn func(*reach.Access) error) error {
	switch f.output {
	case "", "table", "wide", "json", "yaml", "name":
	default:
		return exit.Usagef("-o %s: use table, wide, json, yaml or name", f.output)
	}
	return c.withProfile(ctx, f.Flags, reach.Need{}, fn)
}

func placeOf(a *reach.Access) cronview.Place {
	return cronview.Place{Profile: a.Profile, Served: !a.Direct, Gateway: a.Gateway}
}

func newCronStatus(c *cli, f *cronFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show whether scheduled jobs run, and what comes next",
		Long: `Show whether scheduled jobs run, and what comes next. It ends with 1 when they do not: when no gateway serves a
profile that has active jobs, when its ticker stalled or fails, and when a job is overdue.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				s, err := a.CronStatus(cmd.Context(), a.Profile)
				if err != nil {
					return err
				}
				text, ok := cronview.Status(s, placeOf(a), c.clock.Now())
				if done, err := c.printAs(f.output, s, a.Profile); err != nil {
					return err
				} else if !done {
					fmt.Fprint(c.out, text)
				}
				if !ok {
					return exit.Silent(exit.Failed)
				}
				return nil
			})
		},
	}
}

func newCronList(c *cli, f *cronFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the jobs with their state and next run",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				jobs, err := a.Jobs(cmd.Context(), a.Profile)
				if err != nil {
					return err
				}
				ids := make([]string, len(jobs))
				for i, j := range jobs {
					ids[i] = j.ID
				}
				if done, err := c.printAs(f.output, jobs, ids...); done || err != nil {
					return err
				}
				if len(jobs) == 0 {
					fmt.Fprintf(c.out, "profile %s has no scheduled jobs\n", a.Profile)
					return nil
				}
				fmt.Fprint(c.out, cronview.List(jobs, c.clock.Now()))
				if a.Direct {
					fmt.Fprintf(c.err, "note: no gateway serves profile %s, so none of them runs\n", a.Profile)
				}
				return nil
			})
		},
	}
}

func newCronRuns(c *cli, f *cronFlags) *cobra.Command {
	limit := 20
	command := &cobra.Command{
		Use:     "runs [JOB]",
		Aliases: []string{"history"},
		Short:   "List what ran, newest first",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			job := ""
			if len(args) > 0 {
				job = args[0]
			}
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				runs, err := a.JobRuns(cmd.Context(), a.Profile, job, limit)
				if err != nil {
					return err
				}
				ids := make([]string, len(runs))
				for i, r := range runs {
					ids[i] = r.ID
				}
				if done, err := c.printAs(f.output, runs, ids...); done || err != nil {
					return err
				}
				fmt.Fprint(c.out, cronview.Runs(runs, c.clock.Now()))
				return nil
			})
		},
	}
	command.Flags().IntVar(&limit, "limit", limit, "how many at most")
	return command
}

func newCronDoctor(c *cli, f *cronFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with the scheduled jobs; changes nothing",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				s, err := a.CronStatus(cmd.Context(), a.Profile)
				if err != nil {
					return err
				}
				var jobs []localapi.Job
				if s.Jobs > 0 {
					if jobs, err = a.Jobs(cmd.Context(), a.Profile); err != nil {
						return err
					}
				}
				findings := cronview.Diagnose(s, jobs, placeOf(a), c.clock.Now())
				if done, err := c.printAs(f.output, findings); err != nil {
					return err
				} else if !done {
					fmt.Fprint(c.out, cronview.Findings(findings))
				}
				if len(findings) > 0 {
					return exit.Silent(exit.Failed)
				}
				return nil
			})
		},
	}
}

func newCronTick(c *cli, f *cronFlags) *cobra.Command {
	var wait bool
	command := &cobra.Command{
		Use:   "tick",
		Short: "Run what is due now",
		Long: `Run what is due now, without waiting for the gateway's next tick. When no gateway serves the profile the jobs run in
this command, which returns when they have ended.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withCron(cmd.Context(), f, func(a *reach.Access) error {
				n, err := a.TickJobs(cmd.Context(), a.Profile, wait || a.Direct)
				if err != nil {
					return err
				}
				if done, err := c.printAs(f.output, localapi.Ticked{Dispatched: n}); done || err != nil {
					return err
				}
				fmt.Fprintf(c.out, "%d jobs were begun\n", n)
				return nil
			})
		},
	}
	command.Flags().BoolVar(&wait, "wait", false, "return when they have ended")
	return command
}
