package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/kube"
	"hermes.dev/hermes/cmd/hermes/internal/local"
	"hermes.dev/hermes/cmd/hermes/internal/manifestdir"
	"hermes.dev/hermes/cmd/hermes/internal/signals"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/controllers/engine/process"
	"hermes.dev/hermes/controlplane"
)

type upFlags struct {
	address, manifests, apiserver, metrics, health string
	demo, detach, wait, readyPipe                  bool
	timeout                                        time.Duration
}

func newUp(c *cli) *cobra.Command {
	var f upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Run a control plane and the operator on this machine",
		Long: `Run a control plane and the operator on this machine, until Ctrl-C or hermes down.

The control plane listens on loopback only, at a port that is chosen once and remembered in the data
directory. Gateways keep running when hermes up ends, and the next one takes them over; hermes down stops
them too. One hermes up runs for a data directory; a second one ends with code 75.`,
		Example: `  hermes up
  hermes up --demo --detach --wait
  hermes up --manifests ~/agents`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.up(cmd.Context(), f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.address, "address", "", "loopback HOST:PORT of the control plane (default: a free port, chosen once)")
	flags.StringVar(&f.manifests, "manifests", "", "directory to apply and to follow; objects that leave it are deleted")
	flags.BoolVar(&f.demo, "demo", false, "also declare an agent that answers without network, account or key")
	flags.BoolVar(&f.detach, "detach", false, "run in the background and return once it is healthy")
	flags.BoolVar(&f.wait, "wait", false, "wait until no object needs attention and show the status")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "longest time for --wait")
	flags.StringVar(&f.apiserver, "apiserver-binary", "", "path of hermes-apiserver (default: beside this program, in ../libexec, or on PATH)")
	flags.StringVar(&f.metrics, "metrics-address", "", "loopback HOST:PORT for Prometheus metrics of the operator (default: none)")
	flags.StringVar(&f.health, "health-address", "", "loopback HOST:PORT for /healthz and /readyz of the operator (default: none)")
	flags.BoolVar(&f.readyPipe, "ready-pipe", false, "say that it is healthy on descriptor 3")
	if err := flags.MarkHidden("ready-pipe"); err != nil {
		panic(err) // the flag is defined two lines above
	}
	return command
}

func (c *cli) up(ctx context.Context, f upFlags) error {
	data, err := c.dataDir()
	if err != nil {
		return err
	}
	if err := errors.Join(checkLoopback("--metrics-address", f.metrics), checkLoopback("--health-address", f.health)); err != nil {
		return err
	}
	if f.manifests != "" {
		if f.manifests, err = manifestsDir(f.manifests); err != nil {
			return err
		}
	}
	if f.detach {
		return c.upInBackground(ctx, f, data)
	}
	defer signals.KeepTermination()()
	log := logsTo(c.err, nil)
	if isTerminal(c.err) {
		if err := data.Create(); err != nil {
			return exit.Refusedf("%w", err)
		}
		file, err := local.OpenLog(data.UpLog())
		if err != nil {
			return exit.Refusedf("%w", err)
		}
		defer file.Close() //nolint:errcheck // nothing more is written
		log = logsTo(c.err, file)
	}
	stack, err := c.newStack(f, data, log.install())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stack.Ready = func(owner datadir.Owner, cfg *rest.Config) {
		local.NotifyReady(log.own)
		c.upIsReady(ctx, f, data, owner, cfg, cancel)
	}
	err = stack.Run(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause) // a --wait that ran out
	}
	return err
}

// checkLoopback refuses an address that others can reach: what hermes up serves there asks nobody who they are.
// "" and 0 stand for none.
func checkLoopback(flag, address string) error {
	if address == "" || address == "0" {
		return nil
	}
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return exit.Refusedf("%s %q is not HOST:PORT: use for example 127.0.0.1:9090", flag, address)
	}
	if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return exit.Refusedf("%s %q is not a loopback address: use 127.0.0.1:%s", flag, address, port)
	}
	return nil
}

func manifestsDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", exit.Usagef("--manifests: %w", err)
	case !info.IsDir():
		return "", exit.Usagef("--manifests %s is not a directory: use hermes apply -f for one file", path)
	}
	return abs, nil
}

// newStack puts together what hermes up runs.
func (c *cli) newStack(f upFlags, data datadir.Dir, logs logs) (*local.Stack, error) {
	binary, err := controlplane.FindBinary(f.apiserver)
	if err != nil {
		return nil, exit.Refusedf("%w", err)
	}
	log := logs.own
	// Before any child exists: a group that holds a process passes nothing on.
	cgroup, err := process.DelegatedCgroup()
	if err != nil {
		log.V(1).Info("gateways have no limits but a soft one of memory", "reason", err.Error())
	}
	s := &local.Stack{
		Data: data, APIServer: binary, Address: f.address, Version: currentVersion().Revision, Demo: f.demo, Clock: c.clock, Log: log,
		NewEngine: func(kubeconfig string) (local.Engine, error) { return c.newEngine(data, kubeconfig, cgroup, log) },
		Operator: func(ctx context.Context, cfg *rest.Config, e local.Engine, ready func()) error {
			return runOperator(ctx, cfg, e, data, f.metrics, f.health, logs.libraries, ready)
		},
		StopBudget: gatewayBudget,
	}
	if f.manifests != "" {
		s.Extra = append(s.Extra, func(ctx context.Context, cfg *rest.Config) error {
			client := kube.New(datadir.Source{Kind: datadir.FromFlag, Kubeconfig: data.ControlPlane().Kubeconfig(), Data: data}, c.namespace)
			applier, err := newApplier(client)
			if err != nil {
				return err
			}
			w := &manifestdir.Watcher{Dir: f.manifests, Applier: applier, Clock: c.clock, Log: log.WithName("manifests"),
				TroubleFile: data.ManifestTrouble(), Self: datadir.Self(c.clock.Now()).Process()}
			return w.Run(ctx)
		})
	}
	if notifier := local.Systemd(c.clock, log); notifier != nil {
		s.Extra = append(s.Extra, notifier)
	}
	return s, nil
}

// upIsReady tells whoever waits for it: the terminal, the process that went into the background, systemd.
func (c *cli) upIsReady(ctx context.Context, f upFlags, data datadir.Dir, owner datadir.Owner, cfg *rest.Config, cancel context.CancelCauseFunc) {
	if f.readyPipe {
		if err := local.SayReady(local.OpenReadyPipe()); err != nil {
			fmt.Fprintln(c.err, "hermes: nobody waits for this process any more:", err)
		}
	}
	c.printWhereabouts(data, owner)
	if !f.readyPipe {
		if isTerminal(c.err) {
			fmt.Fprintln(c.out, "log            ", data.UpLog())
		}
		fmt.Fprintln(c.out, "stop it with    Ctrl-C (gateways keep running) or", data.Command("down", c.dataNamed()))
	}
	if !f.wait {
		return
	}
	go func() {
		if err := c.waitForReady(ctx, f.timeout, cfg, data); err != nil {
			cancel(err)
		}
	}()
}

func (c *cli) printWhereabouts(data datadir.Dir, owner datadir.Owner) {
	fmt.Fprintf(c.out, "control plane   https://%s\nkubeconfig      %s\ndata directory  %s\n",
		owner.Address, data.ControlPlane().Kubeconfig(), data)
}

// upInBackground starts hermes up again without its terminal and returns once it is healthy.
func (c *cli) upInBackground(ctx context.Context, f upFlags, data datadir.Dir) error {
	if err := data.Create(); err != nil {
		return exit.Refusedf("%w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pid, err := local.Background(ctx, self, f.again(c, data), data.UpLog())
	if err != nil {
		var died *local.DiedError
		if errors.As(err, &died) {
			for _, line := range died.Lines[:len(died.Lines)-1] {
				fmt.Fprintln(c.err, "  "+line)
			}
		}
		return err
	}
	owner, _ := data.Serving()
	c.printWhereabouts(data, owner)
	fmt.Fprintf(c.out, "log             %s\nstop it with    %s (pid %d)\n", data.UpLog(), data.Command("down", c.dataNamed()), pid)
	if !f.wait {
		return nil
	}
	cfg, err := kube.New(datadir.Source{Kind: datadir.FromFlag, Kubeconfig: data.ControlPlane().Kubeconfig()}, "").ToRESTConfig()
	if err != nil {
		return err
	}
	return c.waitForReady(ctx, f.timeout, cfg, data)
}

// again is the command line of the same hermes up for the background.
func (f upFlags) again(c *cli, data datadir.Dir) []string {
	args := []string{"up", "--ready-pipe", "--data", string(data)}
	for _, flag := range []struct{ name, value string }{
		{"--address", f.address}, {"--manifests", f.manifests}, {"--apiserver-binary", f.apiserver},
		{"--metrics-address", f.metrics}, {"--health-address", f.health}, {"--namespace", c.namespace},
	} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	if f.demo {
		args = append(args, "--demo")
	}
	return args
}

// waitForReady waits until there is something and all of it is Ready, and shows the status. When time runs
// out it shows what is missing and the error has code 1.
func (c *cli) waitForReady(ctx context.Context, timeout time.Duration, cfg *rest.Config, data datadir.Dir) error {
	client, err := kube.HermesClient(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	plane := statusview.ControlPlane{Kind: string(datadir.Local), Address: strings.TrimPrefix(cfg.Host, "https://")}
	if owner, ok := data.Up(); ok {
		plane.Since = &owner.Since
	}
	var view statusview.View
	err = statusfeed.Watch(ctx, client, statusfeed.Query{}, func(snapshot statusview.Snapshot) bool {
		snapshot.GatewayResidents = statusfeed.Residents(snapshot.Gateways)
		view = statusview.New(snapshot, plane, c.clock.Now()).Reworded(c.inUse().Remedy)
		return view.NeedAttention() > 0 || len(view.Rows) == 0
	})
	text := statusview.Render(view, statusview.Options{Terminal: c.terminal(), Now: c.clock.Now(), AllNamespaces: view.SeveralNamespaces()})
	if _, printErr := io.WriteString(c.out, "\n"+text); printErr != nil {
		return printErr
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("not everything was Ready within %s", timeout)
	}
	return err
}
