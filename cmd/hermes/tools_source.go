package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/tools"
)

// withTools calls one of two functions: with a client when a gateway serves the profile, else with its home.
func (c *cli) withTools(ctx context.Context, f toolsFlags, served func(*localapi.Client, string) error, offline func(home.Paths) error) error {
	if f.home != "" {
		if !home.IsProfileHome(f.home) {
			return exit.Usagef("--home %s: that is no profile's home", f.home)
		}
		return offline(home.ForHome(f.home))
	}
	target, err := c.chatTarget(ctx, chatFlags{profile: f.profile, socket: f.socket})
	if err == nil {
		client := localapi.NewClient(target.Socket, target.Gateway)
		defer client.Close()
		if target.Profile == "" {
			target.Profile, err = chat.PickServed(ctx, client, f.profile, target.Socket)
		}
		if err == nil {
			err = served(client, target.Profile)
		}
		var answer *localapi.Error
		if !errors.As(err, &answer) || answer.Code != localapi.CodeUnreachable {
			return err
		}
	}
	paths, ok := c.unservedHome(f.profile)
	if !ok {
		return err
	}
	fmt.Fprintf(c.err, "note: nothing serves profile %s, so its home is read: %s\n", paths.Name, paths.Home)
	return offline(paths)
}

// unservedHome finds the home of a profile below the default homes of this data directory.
func (c *cli) unservedHome(name string) (home.Paths, bool) {
	data, err := c.dataDir()
	if err != nil {
		return home.Paths{}, false
	}
	namespace := c.namespace
	if namespace == "" {
		namespace = "default"
	}
	if name == "" {
		name = home.DefaultProfile
	}
	dir := filepath.Join(data.Gateways(), namespace)
	gateways, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return home.Paths{}, false
	}
	for _, g := range gateways {
		profiles, err := home.List(filepath.Join(dir, g.Name()))
		if err != nil {
			continue
		}
		for _, p := range profiles {
			if p.Name == name {
				return p, true
			}
		}
	}
	return home.Paths{}, false
}

func (c *cli) toolsOverview(ctx context.Context, f toolsFlags) (o tools.Overview, err error) {
	err = c.withTools(ctx, f,
		func(client *localapi.Client, name string) (err error) {
			o, err = client.Tools(ctx, name)
			return err
		},
		func(p home.Paths) (err error) {
			o, err = profile.SurveyTools(p, c.clock)
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
			id := args[0]
			err := c.withTools(cmd.Context(), *f,
				func(client *localapi.Client, name string) error {
					return client.RevokeApproval(cmd.Context(), name, id)
				},
				func(p home.Paths) error {
					ok, err := tools.NewApprovals(filepath.Join(p.Home, tools.ApprovalsFile), c.clock).Revoke(id)
					if err == nil && !ok {
						err = exit.Usagef("there is no decision for always with id %q: hermes tools list shows them", id)
					}
					return err
				})
			if err != nil {
				return err
			}
			fmt.Fprintln(c.out, "revoked; it is asked about again")
			return nil
		},
	}
	f.placeFlags(command)
	return command
}
