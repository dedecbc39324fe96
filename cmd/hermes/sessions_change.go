package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/sessions"
	"hermes.dev/hermes/runtime/localapi"
)

func newSessionsRename(c *cli, f *sessionFlags) *cobra.Command {
	var clear bool
	command := &cobra.Command{
		Use:   "rename SESSION (TITLE | --clear)",
		Short: "Give a session a title",
		Long: `Give a session a title. No two sessions of a profile have the same one. A title that a person gave is never
replaced by one of the agent's own.`,
		Example:           `  hermes sessions rename 20261129_215501 "Tax return"`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completeSession(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			title := ""
			switch {
			case clear == (len(args) == 2):
				return exit.Usagef("give the title after the session, or use --clear to take it away")
			case !clear:
				title = args[1]
			}
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				head, err := a.SessionHead(cmd.Context(), a.Profile, args[0])
				if err != nil {
					return err
				}
				stored, err := a.Rename(cmd.Context(), a.Profile, head.ID, title)
				switch {
				case err != nil:
					return err
				case stored == "":
					fmt.Fprintf(c.out, "session/%s has no title any more\n", head.ID)
				default:
					fmt.Fprintf(c.out, "session/%s renamed to %q\n", head.ID, stored)
				}
				return nil
			})
		},
	}
	command.Flags().BoolVar(&clear, "clear", false, "take the title away")
	return command
}

func newSessionsDelete(c *cli, f *sessionFlags) *cobra.Command {
	var yes, force bool
	command := &cobra.Command{
		Use:   "delete SESSION",
		Short: "Delete a session and what belongs to it",
		Long: `Delete a session with its messages and usage, and the sessions that compression linked to it. It cannot be taken
back; hermes sessions export writes it down first. A session whose turn runs is refused; --force stops the turn.`,
		Example:           `  hermes sessions delete 20261129_215501`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: c.completeSession(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				head, err := a.SessionHead(cmd.Context(), a.Profile, args[0])
				if err != nil {
					return err
				}
				question := fmt.Sprintf("Delete session %s (%s) with %s?", head.ID, sessions.Name(head), sessions.Count(head.Messages, "message"))
				if err := c.confirm(yes, question); err != nil {
					return err
				}
				gone, err := a.Delete(cmd.Context(), a.Profile, head.ID, force)
				if err != nil {
					return err
				}
				for _, id := range gone.Sessions {
					fmt.Fprintf(c.out, "session/%s deleted\n", id)
				}
				return nil
			})
		},
	}
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	command.Flags().BoolVar(&force, "force", false, "stop a turn that runs in it")
	return command
}

func newSessionsPrune(c *cli, f *sessionFlags) *cobra.Command {
	var yes bool
	var age string
	var ask localapi.MaintenanceRequest
	command := &cobra.Command{
		Use:   "prune",
		Short: "Delete sessions that ended long ago",
		Long: `Delete sessions that ended and were not used for a while, with their messages and usage. A conversation that
compression split over several sessions goes as a whole or stays; pinned ones stay.

Other programs that have the store open are looked for first: while there is one, nothing is done.`,
		Example: `  hermes sessions prune --dry-run
  hermes sessions prune --older-than 30d --source cron --yes`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			older, err := sessions.ParseAge(age)
			if err != nil {
				return exit.Usagef("--older-than: %w", err)
			}
			ask.OlderThanSeconds = int64(older / time.Second)
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error { return c.prune(cmd, a, f.output, ask, yes) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&age, "older-than", "90d", "how long ago a session was used last")
	flags.StringVar(&ask.Source, "source", "", "only conversations of this source: cli, api, cron or a platform")
	flags.BoolVar(&ask.DryRun, "dry-run", false, "say which, and delete nothing")
	flags.BoolVar(&ask.Force, "force", false, "go on although other programs have the store open")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.outputFlag(command)
	return command
}

func (c *cli) prune(cmd *cobra.Command, a *sessions.Access, output string, ask localapi.MaintenanceRequest, yes bool) error {
	look := ask
	look.DryRun = true
	done, err := a.Maintain(cmd.Context(), a.Profile, "prune", look)
	if err != nil {
		return err
	}
	if !ask.DryRun && len(done.Deleted.Sessions) > 0 {
		question := fmt.Sprintf("Delete %s with %s?",
			sessions.Count(int64(len(done.Deleted.Sessions)), "session"), sessions.Count(done.Deleted.Messages, "message"))
		if err := c.confirm(yes, question); err != nil {
			return err
		}
	}
	if !ask.DryRun {
		if done, err = a.Maintain(cmd.Context(), a.Profile, "prune", ask); err != nil {
			return err
		}
	}
	c.warnPassedOver(done)
	if printed, err := c.printAs(output, done, done.Deleted.Sessions...); printed {
		return err
	}
	verb := "deleted"
	if ask.DryRun {
		verb = "would be deleted"
	}
	for _, id := range done.Deleted.Sessions {
		fmt.Fprintf(c.out, "session/%s %s\n", id, verb)
	}
	if len(done.Deleted.Sessions) == 0 {
		fmt.Fprintln(c.err, "there is nothing to prune")
	}
	return nil
}

// newSessionsOptimize makes optimize and optimize-storage.
func newSessionsOptimize(c *cli, f *sessionFlags, action, short, long string) *cobra.Command {
	var ask localapi.MaintenanceRequest
	command := &cobra.Command{
		Use:   action,
		Short: short,
		Long: long + `

Other programs that have the store open are looked for first: while there is one, nothing is done.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withSessions(cmd.Context(), f, func(a *sessions.Access) error {
				done, err := a.Maintain(cmd.Context(), a.Profile, action, ask)
				if err != nil {
					return err
				}
				c.warnPassedOver(done)
				if printed, err := c.printAs(f.output, done); printed {
					return err
				}
				return sessions.Maintained(c.out, action, done)
			})
		},
	}
	flags := command.Flags()
	flags.BoolVar(&ask.DryRun, "dry-run", false, "say what would be done")
	flags.BoolVar(&ask.Force, "force", false, "go on although other programs have the store open")
	f.outputFlag(command)
	return command
}

func (c *cli) warnPassedOver(done localapi.MaintenanceResult) {
	for _, holder := range done.PassedOver {
		fmt.Fprintf(c.err, "warning: went on although another program has the store open: %s\n", holder)
	}
}
