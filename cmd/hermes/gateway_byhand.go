package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/hostctl"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/tools"
)

// byHandFlags are the flags of a gateway that nobody declared.
type byHandFlags struct {
	hostFlags
	replace, force, external bool
}

func (f *byHandFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.profile, "profile", "p", "", "launch profile of a gateway without --name")
	flags.BoolVar(&f.replace, "replace", false, "end the gateway that serves this profile, and take over")
	flags.BoolVar(&f.force, "force", false, "start beside the gateway of this host without asking it")
	flags.BoolVar(&f.external, "external-supervisor", false, "a supervisor that hermes does not know started this: exit codes are for it")
}

// declared reports whether an operator, or a person in its place, runs the gateway of a Gateway object.
func (c *cli) declared(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"name", "run-id", "kubeconfig", "namespace"}, func(name string) bool {
		return cmd.Flags().Changed(name)
	}) || c.getenv("HERMES_RUN_ID") != ""
}

// runByHand serves the profiles on disk. Implements the run of G-280 and the guards of G-272.
func (c *cli) runByHand(ctx context.Context, o gateway.Options, f byHandFlags) error {
	h, err := c.gatewayHost(f.hostFlags)
	if err != nil {
		return err
	}
	o.Home, o.Namespace, o.Clock = h.Launch.Home, "default", clock.RealClock{}
	o.RunID = fmt.Sprintf("manual-%d-%d", os.Getpid(), o.Clock.Now().UnixNano())
	o.LockDir, o.TempDir = c.lockDir(), os.TempDir()
	o.Supervisor = supervisor(c.getenv)
	if f.external {
		o.Supervisor = host.SupervisorExternal
	}
	o.Revision, o.Argv = currentVersion().Revision, os.Args
	if o.Orphans, err = tools.NewOrphans(); err != nil {
		o.Log.Info("commands may leave processes behind", "reason", err.Error())
	}
	o.Guarded = c.guarded()
	o.ByHand = &gateway.ByHand{Force: f.force, Warn: func(line string) { fmt.Fprintln(c.err, "hermes:", line) }}
	err = gateway.RunByHand(ctx, o, gateway.Start{
		Replace: f.replace, Supervised: o.Supervisor != host.SupervisorManual, End: h.End,
		Guard: func(ctx context.Context) error { return startGuards(ctx, h, f) },
	})
	return c.explainStart(err)
}

// startGuards keep a person from starting a second gateway for a home by accident. Implements G-272 and G-273.
func startGuards(ctx context.Context, h *hostctl.Host, f byHandFlags) error {
	if err := hostctl.NamedGuard(h.Launch.Name, h.HasOwnGateway(), f.force); err != nil {
		return ended(err)
	}
	if !f.force && h.Services.Running(ctx, h.Launch.Name) {
		return fmt.Errorf("the gateway of %s runs under %s already: use hermes gateway restart, or --force", h.Launch.Name, h.Services.Kind)
	}
	owner, running := h.Own()
	switch {
	case !running:
		return nil
	case f.replace:
		return h.End(ctx, owner)
	default:
		return fmt.Errorf("pid %d is the gateway of %s already: take over with --replace", owner.PID, h.Launch.Home)
	}
}

// explainStart tells how a start ended, for people and for supervisors.
func (c *cli) explainStart(err error) error {
	var parted *gateway.Parted
	var refusal *gateway.Refusal
	switch {
	case errors.As(err, &parted):
		for _, line := range parted.Lines {
			fmt.Fprintln(c.err, "hermes:", line)
		}
		return exit.Silent(parted.Code)
	case errors.As(err, &refusal):
		fmt.Fprintln(c.err, refusal.Line())
		return exit.Silent(refusal.Code)
	default:
		return err
	}
}

// restartSignal passes SIGUSR1 on as a request to restart. Implements G-289.
func restartSignal() (asked <-chan struct{}, stop func()) {
	signals, out, quit := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		select {
		case <-signals:
			out <- struct{}{}
		case <-quit:
		}
	}()
	return out, func() {
		signal.Stop(signals)
		close(quit)
	}
}

// apiSocketVariable numbers the API socket that the run before left open in this process.
const apiSocketVariable = "HERMES_GATEWAY_API_FD"

// inheritedAPI is that socket, nil when there is none. The variable goes: nobody else is to take the number for theirs.
func (c *cli) inheritedAPI() *os.File {
	fd, err := strconv.Atoi(c.getenv(apiSocketVariable))
	if err != nil || fd < 3 {
		return nil
	}
	_ = os.Unsetenv(apiSocketVariable)
	return os.NewFile(uintptr(fd), "gateway-api.sock")
}

// followed lets a gateway that was asked to restart be followed by the program that is installed now, in the same process:
// its supervisor sees no end, and nobody can come between.
func (c *cli) followed(err error) error {
	var restart *gateway.Restart
	if !errors.As(err, &restart) {
		return err
	}
	program, execErr := os.Executable()
	if execErr != nil {
		return execErr
	}
	program = strings.TrimSuffix(program, " (deleted)") // the program was replaced; its successor has the name
	args := slices.DeleteFunc(slices.Clone(os.Args), func(a string) bool { return a == "--replace" || a == "--replace=true" })
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, apiSocketVariable+"=") })
	if restart.API != nil {
		fd := restart.API.Fd()
		if _, err := unix.FcntlInt(fd, unix.F_SETFD, 0); err == nil {
			env = append(env, fmt.Sprintf("%s=%d", apiSocketVariable, fd))
		}
	}
	return fmt.Errorf("restart: %w", syscall.Exec(program, args, env))
}
