package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"gopkg.in/natefinch/lumberjack.v2"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/signals"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/tools"
)

func newGateway(c *cli) *cobra.Command {
	command := &cobra.Command{
		Use:   "gateway",
		Short: "Run, restart and look after gateway processes",
		Args:  knownVerb,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newGatewayRun(c), newGatewayRestart(c), newGatewayStart(c), newGatewayStop(c), newGatewayStatus(c),
		newGatewayInstall(c), newGatewayUninstall(c), newGatewayMigrate(c))
	return command
}

func newGatewayRun(c *cli) *cobra.Command {
	o := gateway.Options{}
	var logDir string
	var by byHandFlags
	command := &cobra.Command{
		Use:   "run",
		Short: "Serve profiles until told to stop",
		Long: `Serve the profiles of one Gateway until told to stop. hermes up and the operator start this themselves, with --name.

Without --name, --run-id and --kubeconfig it needs no control plane: it serves the profiles of a home root as they are on
disk, unless the gateway of this host serves them already. --replace takes over from that one, --force starts beside it.
SIGUSR1 restarts it after the turns in flight, SIGTERM stops it.

Exit codes: 0 stopped as asked, 75 another process serves the home (try again later), 78 the configuration must
change; then the last line on standard error is "hermes-refusal: REASON: what to change".`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			closeInherited()
			o.Log = c.gatewayLog(logDir)
			defer signals.KeepTermination()()
			restart, stop := restartSignal()
			defer stop()
			o.Restart, o.InheritedAPI = restart, c.inheritedAPI()
			if c.declared(cmd) {
				if by.replace || by.force || by.profile != "" {
					return exit.Usagef("--replace, --force and -p are for a gateway without --name")
				}
				return c.followed(c.runGateway(cmd.Context(), o))
			}
			by.home = o.Home
			return c.followed(c.runByHand(cmd.Context(), o, by))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Home, "home", "", "home root, an absolute path (default without --name: $HERMES_HOME, else ~/.hermes)")
	by.add(flags)
	flags.StringVar(&o.Name, "name", "default", "name of the Gateway")
	flags.StringVar(&o.RunID, "run-id", "", "identity of this run (default: made up)")
	flags.DurationVar(&o.DrainTimeout, "drain-timeout", 30*time.Second, "how long a stop waits for turns in flight")
	flags.BoolVar(&o.AdoptExistingHome, "adopt-existing-home", false, "take over a home that somebody made by hand; a backup is made first")
	flags.StringVar(&logDir, "log-dir", "", "directory of gateway.log, rotated (default: standard error)")
	return command
}

func (c *cli) runGateway(ctx context.Context, o gateway.Options) error {
	if o.Home == "" {
		return exit.Usagef("required flag(s) \"home\" not set")
	}
	if !filepath.IsAbs(o.Home) {
		return exit.Usagef("--home must be an absolute path, not %q", o.Home)
	}
	o.Home = filepath.Clean(o.Home)
	cfg, namespace, err := c.gatewayConfig()
	if err != nil {
		return err
	}
	o.Config, o.Namespace = cfg, namespace
	if c.namespace != "" {
		o.Namespace = c.namespace
	}
	o.Guarded = c.guarded()
	o.Clock = clock.RealClock{}
	if o.RunID == "" {
		o.RunID = fmt.Sprintf("manual-%d-%d", os.Getpid(), o.Clock.Now().UnixNano())
	}
	o.LockDir, o.TempDir = gateway.LockDir(o.Home), os.TempDir()
	o.Supervisor = supervisor(c.getenv)
	o.Revision, o.Argv = currentVersion().Revision, os.Args
	if o.Orphans, err = tools.NewOrphans(); err != nil {
		o.Log.Info("commands may leave processes behind", "reason", err.Error())
	}
	err = gateway.Run(ctx, o)
	var refusal *gateway.Refusal
	if errors.As(err, &refusal) {
		fmt.Fprintln(c.err, refusal.Line())
		return exit.Silent(refusal.Code)
	}
	return err
}

// gatewayConfig reads the kubeconfig the engine passes, or the one this command line means.
func (c *cli) gatewayConfig() (*rest.Config, string, error) {
	if c.kubeconfig == "" {
		client, err := c.client()
		if err != nil {
			return nil, "", err
		}
		cfg, err := client.ToRESTConfig()
		return cfg, "default", err
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.kubeconfig}, &clientcmd.ConfigOverrides{})
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", exit.Refusedf("read kubeconfig %s: %w", c.kubeconfig, err)
	}
	namespace, _, err := loader.Namespace()
	return cfg, namespace, err
}

// gatewayLog writes to a rotated file in dir, or to standard error. Libraries log there too.
func (c *cli) gatewayLog(dir string) logr.Logger {
	var out io.Writer = c.err
	if dir != "" {
		out = &lumberjack.Logger{Filename: filepath.Join(dir, "gateway.log"), MaxSize: 5, MaxBackups: 3}
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo}))
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("kubernetes"))
	return log
}

// supervisor says who started this process, from what it left in the environment. Implements G-244 and G-271.
func supervisor(getenv func(string) string) host.Supervisor {
	switch {
	case getenv("HERMES_RUN_ID") != "", getenv("HERMES_S6_SUPERVISED_CHILD") != "":
		return host.SupervisorExternal
	case getenv("INVOCATION_ID") != "":
		return host.SupervisorSystemd
	case getenv("XPC_SERVICE_NAME") != "" && getenv("XPC_SERVICE_NAME") != "0":
		return host.SupervisorLaunchd
	default:
		return host.SupervisorManual
	}
}
