package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"

	"github.com/spf13/cobra"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/hostctl"
	"hermes.dev/hermes/cmd/hermes/internal/service"
)

// serviceSpec describes this program as a service for the home of a verb.
func (c *cli) serviceSpec(h *hostctl.Host, runAs string, force bool) (service.Spec, error) {
	program, err := os.Executable()
	if err != nil {
		return service.Spec{}, err
	}
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	if runAs == "" {
		u, err := user.Current()
		if err != nil {
			return service.Spec{}, err
		}
		runAs = u.Username
	}
	return service.Spec{
		Home: h.Launch, Program: program, Scope: h.Services.Scope, RunAs: runAs, Path: c.getenv("PATH"),
		Force: force, DrainSeconds: int(defaultDrain.Seconds()),
	}, nil
}

func newGatewayInstall(c *cli) *cobra.Command {
	var f hostFlags
	var force, dryRun bool
	var runAs string
	command := &cobra.Command{
		Use:   "install",
		Short: "Install a gateway as a service of systemd or launchd",
		Long: `Install the gateway of a home that nobody declared as a service: a systemd unit of the user, with --system of the
system, or a launchd agent. The service restarts on 75 and stays stopped on 78. --dry-run prints the definition.

A named profile needs --force: the gateway of this host serves it without a service of its own.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			if err := hostctl.NamedGuard(h.Launch.Name, h.HasOwnGateway(), force); err != nil {
				return ended(err)
			}
			spec, err := c.serviceSpec(h, runAs, force)
			if err != nil {
				return err
			}
			if dryRun {
				text, err := h.Services.Render(spec)
				if err != nil {
					return exit.Refusedf("%w", err)
				}
				fmt.Fprint(c.out, text)
				return nil
			}
			if err := h.Services.Install(cmd.Context(), spec); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "installed %s\n", h.Services.Path(h.Launch.Name))
			return nil
		},
	}
	f.add(command)
	command.Flags().BoolVar(&force, "force", false, "install a second gateway for a named profile")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print the definition and change nothing")
	command.Flags().StringVar(&runAs, "run-as", "", "user of a system unit (default: who runs this)")
	return command
}

func newGatewayUninstall(c *cli) *cobra.Command {
	var f hostFlags
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the service of a gateway and remove it",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			if !h.Services.Installed(h.Launch.Name) {
				fmt.Fprintf(c.out, "profile %s has no service\n", h.Launch.Name)
				return nil
			}
			if err := h.Services.Uninstall(cmd.Context(), h.Launch.Name); err != nil {
				return err
			}
			fmt.Fprintf(c.out, "removed %s\n", h.Services.Path(h.Launch.Name))
			return nil
		},
	}
	f.add(command)
	return command
}

func newGatewayMigrate(c *cli) *cobra.Command {
	var f hostFlags
	var multiplex, dryRun, yes bool
	command := &cobra.Command{
		Use:   "migrate --multiplex",
		Short: "Fold the gateways of single profiles into one",
		Long: `Fold the gateways that single profiles have into the one gateway of this host: their services and processes go,
gateway.multiplex_profiles is set, and the default profile's gateway serves them all. It may be run again at any time and
finishes what an earlier run did not; there is no way back by command. --dry-run says what would happen.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !multiplex {
				return exit.Usagef("name what to migrate to: --multiplex")
			}
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			plan, err := h.MigrationPlan(cmd.Context())
			if err != nil {
				return err
			}
			if plan.Done() {
				fmt.Fprintln(c.out, "one gateway serves this host already")
				return nil
			}
			for _, line := range plan.Describe() {
				fmt.Fprintln(c.out, "-", line)
			}
			if len(plan.Blockers) > 0 {
				return exit.Refusedf("%s", plan.Blockers[0])
			}
			if dryRun {
				return nil
			}
			if !yes {
				return exit.Usagef("this stops the gateways above: say --yes to go on")
			}
			spec, err := c.serviceSpec(h, "", false)
			if err != nil {
				return err
			}
			return ended(h.Migrate(cmd.Context(), plan, spec))
		},
	}
	f.add(command)
	command.Flags().BoolVar(&multiplex, "multiplex", false, "to one gateway that serves every profile")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "say what would happen and change nothing")
	command.Flags().BoolVarP(&yes, "yes", "y", false, "go on without asking")
	return command
}

func newGatewayStatus(c *cli) *cobra.Command {
	var f hostFlags
	var output string
	command := &cobra.Command{
		Use:   "status",
		Short: "Show who serves a home on this host",
		Long: `Show who serves a home on this host: parked, served by another profile's gateway, running by itself, or stopped.
Declared gateways are shown by hermes status.

Exit codes: 0 it is served, or parked on purpose; 1 it is not.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return exit.Usagef("-o takes json, not %q", output)
			}
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			r := h.Status(cmd.Context())
			if output == "json" {
				e := json.NewEncoder(c.out)
				e.SetIndent("", "  ")
				if err := e.Encode(r); err != nil {
					return err
				}
			} else {
				for _, line := range r.Lines {
					fmt.Fprintf(c.out, "%s: %s\n", r.Profile, line)
				}
				for _, line := range r.Others {
					fmt.Fprintln(c.out, "other gateway:", line)
				}
			}
			if r.State == "stopped" {
				return exit.Silent(exit.Failed)
			}
			return nil
		},
	}
	f.add(command)
	command.Flags().StringVarP(&output, "output", "o", "", "json")
	return command
}
