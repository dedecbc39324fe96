package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/hostctl"
	"hermes.dev/hermes/cmd/hermes/internal/service"
	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// hostFlags name the home a lifecycle verb is about.
type hostFlags struct {
	profile, home string
	system        bool
}

func (f *hostFlags) add(command *cobra.Command) {
	command.Flags().StringVarP(&f.profile, "profile", "p", "", "profile of the home root (default: that of $HERMES_HOME, else active_profile, else default)")
	command.Flags().StringVar(&f.home, "home", "", "home, an absolute path (default $HERMES_HOME, else ~/.hermes)")
	command.Flags().BoolVar(&f.system, "system", false, "speak to the system's service manager and not the user's")
}

// launchHome resolves the home of a verb. Implements G-101, G-102 and G-107.
func (c *cli) launchHome(f hostFlags) (home.Paths, error) {
	dir := f.home
	if dir == "" {
		dir = strings.TrimSpace(c.getenv("HERMES_HOME"))
	}
	if dir == "" {
		dir = filepath.Join(c.getenv("HOME"), ".hermes")
	}
	if !filepath.IsAbs(dir) {
		return home.Paths{}, exit.Usagef("the home must be an absolute path, not %q", dir)
	}
	paths := home.ForHome(dir)
	name := f.profile
	if name == "" && paths.Name == home.DefaultProfile && f.home == "" {
		if active, err := os.ReadFile(filepath.Join(paths.Root, "active_profile")); err == nil {
			name = strings.TrimSpace(string(active))
		}
	}
	if name == "" {
		return paths, nil
	}
	paths, err := home.ForProfile(paths.Root, name)
	if err != nil {
		return home.Paths{}, exit.Usagef("%w", err)
	}
	return paths, nil
}

// lockDir is where this user's gateways find each other. Implements G-220.
func (c *cli) lockDir() string {
	return host.RendezvousDir(c.getenv("HERMES_GATEWAY_LOCK_DIR"), c.getenv("XDG_STATE_HOME"), c.getenv("HOME"))
}

// gatewayHost is the host as the lifecycle verbs see it.
func (c *cli) gatewayHost(f hostFlags) (*hostctl.Host, error) {
	paths, err := c.launchHome(f)
	if err != nil {
		return nil, err
	}
	log := logr.Discard()
	r, err := host.NewRendezvous(host.RendezvousConfig{
		Dir: c.lockDir(), Role: host.RoleGateway, DefaultRoot: paths.Root, UID: os.Getuid(), Clock: c.clock, Log: log,
	})
	if err != nil {
		return nil, err
	}
	declared, err := gateway.DeclaredRendezvous(paths.Root, c.clock, log)
	if err != nil {
		return nil, err
	}
	scope := service.User
	if f.system {
		scope = service.System
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	return &hostctl.Host{
		Launch: paths, Rendezvous: r, Prober: &attach.Prober{Rendezvous: r, Declared: declared, Clock: clock.RealClock{}, Log: log},
		Services: service.Detect(runtime.GOOS, c.getenv("HOME"), c.getenv("XDG_CONFIG_HOME"), scope, exists, runTool),
		Clock:    c.clock, Out: c.out, Spawn: c.spawnGateway,
	}, nil
}

// runTool runs a command of the service manager; its last words are the error's.
func runTool(ctx context.Context, name string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// spawnGateway starts a gateway in a session of its own, with its output in the home's log.
func (c *cli) spawnGateway(paths home.Paths, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	logs := filepath.Join(paths.Home, "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return fmt.Errorf("start a gateway: %w", err)
	}
	out, err := os.OpenFile(filepath.Join(logs, "gateway.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start a gateway: %w", err)
	}
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a gateway: %w", err)
	}
	return cmd.Process.Release()
}

// ended turns the outcome of a lifecycle verb into this command line's.
func ended(err error) error {
	var coded *hostctl.Coded
	switch {
	case err == nil, hostctl.IsAttached(err):
		return nil
	case errors.As(err, &coded):
		return &exit.Error{Code: coded.Code, Err: coded.Err}
	default:
		return err
	}
}

func newGatewayStart(c *cli) *cobra.Command {
	var f hostFlags
	var all, force bool
	command := &cobra.Command{
		Use:   "start",
		Short: "Start a gateway by hand, or serve a parked profile again",
		Long: `Start the gateway of a home that nobody declared: its service when one is installed, else a process in the
background. A profile that was parked with stop is served again by the gateway of this host.

--all starts nothing when a gateway of this host runs, and lists the gateways beside it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			if all {
				return ended(h.StartAll(cmd.Context()))
			}
			return ended(h.Start(cmd.Context(), force))
		},
	}
	f.add(command)
	command.Flags().BoolVar(&all, "all", false, "start the gateway of this host if none runs")
	command.Flags().BoolVar(&force, "force", false, "start a second gateway beside one that runs")
	return command
}

func newGatewayStop(c *cli) *cobra.Command {
	var f hostFlags
	var all bool
	command := &cobra.Command{
		Use:   "stop",
		Short: "Stop a gateway that runs by hand, or park one profile",
		Long: `Stop the gateway of a home that nobody declared. A profile that the gateway of this host serves is parked: it is
not served, also after a restart, until hermes gateway start; the gateway and its other profiles go on.

--all stops every gateway of this host. A declared gateway is stopped by deleting it, or all of them by hermes down.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.gatewayHost(f)
			if err != nil {
				return err
			}
			if all {
				return ended(h.StopAll(cmd.Context()))
			}
			return ended(h.Stop(cmd.Context()))
		},
	}
	f.add(command)
	command.Flags().BoolVar(&all, "all", false, "stop every gateway of this host")
	return command
}
