package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/reach"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/tools"
)

// toolsOverview asks the gateway, or reads the configuration of a home that nothing serves: making the tools there would
// start what they need.
func (c *cli) toolsOverview(ctx context.Context, f toolsFlags) (o tools.Overview, err error) {
	err = c.withProfile(ctx, f.Flags, reach.Need{}, func(a *reach.Access) (err error) {
		if !a.Direct {
			o, err = a.Tools(ctx, a.Profile)
			return err
		}
		if f.Home == "" {
			fmt.Fprintf(c.err, "note: nothing serves profile %s, so its home is read: %s\n", a.Profile, a.Home)
		}
		o, err = profile.SurveyTools(a.Paths(), c.clock)
		return err
	})
	return o, err
}

func newToolsRevoke(c *cli, f *toolsFlags) *cobra.Command {
	command := &cobra.Command{
		Use:   "revoke ID|all",
		Short: "Take back what was allowed for always",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.withProfile(cmd.Context(), f.Flags, reach.Need{}, func(a *reach.Access) error {
				return a.RevokeApproval(cmd.Context(), a.Profile, args[0])
			})
			var e *localapi.Error
			if errors.As(err, &e) && e.Code == "no_such_approval" {
				if args[0] == "all" {
					fmt.Fprintln(c.out, "nothing was allowed for always")
					return nil
				}
				return exit.Usagef("%w: hermes tools list shows them", err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(c.out, "revoked; it is asked about again")
			return nil
		},
	}
	f.RegisterPlace(command.Flags())
	return command
}
