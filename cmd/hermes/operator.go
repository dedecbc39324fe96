package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/local"
	"hermes.dev/hermes/cmd/hermes/internal/signals"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/controllers/engine/process"
	"hermes.dev/hermes/controllers/operator"
)

// defaultDrain is the drainTimeout a Gateway has by default.
const defaultDrain = 30 * time.Second

func newOperator(c *cli) *cobra.Command {
	var o operator.Options
	command := &cobra.Command{
		Use:   "operator",
		Short: "Run the controller manager alone, for a cluster",
		Long: `Run the controller manager alone, for a cluster.

It reaches the cluster by --kubeconfig, $KUBECONFIG, or as the pod it runs in. Gateways of engine Process are
for the machine that hermes up runs on and stall here with EngineUnavailable.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer signals.KeepTermination()()
			cfg, err := c.operatorConfig()
			if err != nil {
				return err
			}
			o.Log = c.logger()
			return operator.Run(cmd.Context(), cfg, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.MetricsAddress, "metrics-address", ":8080", "HOST:PORT for Prometheus metrics, 0 for none")
	flags.StringVar(&o.HealthAddress, "health-address", ":8081", "HOST:PORT for /healthz and /readyz, 0 for none")
	flags.BoolVar(&o.LeaderElection, "leader-elect", true, "let one of several operators work at a time")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the leader's Lease (default: the pod's)")
	return command
}

// operatorConfig finds the cluster: a pod has no kubeconfig.
func (c *cli) operatorConfig() (*rest.Config, error) {
	if c.kubeconfig == "" && c.getenv("KUBECONFIG") == "" && c.getenv("KUBERNETES_SERVICE_HOST") != "" {
		return rest.InClusterConfig()
	}
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	return client.ToRESTConfig()
}

// runOperator is the operator of hermes up: the process engine, homes in the data directory, and the data
// directory's lock in place of an election.
func runOperator(ctx context.Context, cfg *rest.Config, e engine.Engine, data datadir.Dir, metrics, health string, log logr.Logger, ready func()) error {
	return operator.Run(ctx, cfg, operator.Options{
		Log:            log,
		Engines:        map[v1alpha1.EngineType]engine.Engine{v1alpha1.EngineProcess: e},
		HomeRoot:       data.Gateways(),
		MetricsAddress: metrics,
		HealthAddress:  health,
		Ready:          ready,
	})
}

// newEngine is the process engine of a data directory. Gateways run this very program.
func (c *cli) newEngine(data datadir.Dir, kubeconfig, cgroup string, log logr.Logger) (local.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	locks := c.lockDir()
	if !filepath.IsAbs(locks) {
		locks = "" // a user without a home directory has no gateways by hand
	}
	return process.New(process.Options{
		HostLocks: locks, Binary: self, Dir: data.Engine(), Kubeconfig: kubeconfig, BaseEnv: c.baseEnv(), CgroupParent: cgroup,
		Log: log.WithName("engine"), Clock: c.clock, Revision: func() string { return currentVersion().Revision },
	})
}

// baseEnv is what a gateway gets of this process's environment; everything else is declared.
func (c *cli) baseEnv() []string {
	var out []string
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value := c.getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	return out
}

// gatewayBudget is the longest the gateways of a control plane may take to stop, all at once. When the
// control plane does not answer it is that of the default drainTimeout.
func gatewayBudget(ctx context.Context, cfg *rest.Config) time.Duration {
	drain := defaultDrain
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, d := range statusfeed.DrainTimeouts(ctx, cfg) {
		drain = max(drain, d)
	}
	return process.StopBudget(drain)
}

// logger writes what the operator of a cluster has to say to standard error, libraries included.
func (c *cli) logger() logr.Logger {
	log := logr.FromSlogHandler(slog.NewTextHandler(c.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	logs{own: log, libraries: log}.install()
	return log
}
