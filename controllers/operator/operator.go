// Package operator composes the reconcilers into one controller manager. It is
// what `hermes up` runs beside its own control plane and what `hermes operator`
// runs on a cluster. It owns wiring only.
package operator

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/controllers/gateway"
	"hermes.dev/hermes/controllers/pending"
	"hermes.dev/hermes/controllers/profile"
	"hermes.dev/hermes/controllers/schedule"
)

// workers is how many objects of one kind are reconciled at once. The API server
// on two cores is the limit long before this is.
const workers = 6

// Options of an operator.
type Options struct {
	// Log receives everything the manager says.
	Log logr.Logger
	// Engines by type. A Gateway of another engine stalls with EngineUnavailable.
	Engines map[v1alpha1.EngineType]engine.Engine
	// HomeRoot is the directory below which Gateways without spec.home live.
	HomeRoot string
	// MetricsAddress serves Prometheus metrics; "0" serves none.
	MetricsAddress string
	// HealthAddress serves /healthz and /readyz; empty or "0" serves none.
	HealthAddress string
	// LeaderElection makes one of several operators active; on a laptop the data directory's lock does that.
	LeaderElection bool
	// LeaderElectionNamespace holds the Lease of the leader.
	LeaderElectionNamespace string
	// Ready is called once the caches are filled and the reconcilers run.
	Ready func()
}

// Scheme returns the types that the operator reads and writes.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // a scheme that does not build is a programming error
		}
	}
	return s
}

// Run reconciles until ctx ends. It returns an error when the manager cannot
// start or loses its leadership.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	mgr, err := newManager(cfg, o)
	if err != nil {
		return err
	}
	if err := setup(ctx, mgr, o); err != nil {
		return err
	}
	if o.Ready != nil {
		go func() {
			if mgr.GetCache().WaitForCacheSync(ctx) {
				o.Ready()
			}
		}()
	}
	return mgr.Start(ctx)
}

func newManager(cfg *rest.Config, o Options) (ctrl.Manager, error) {
	cfg = rest.CopyConfig(cfg)
	// The server's own flow control bounds the operator; a client-side limit only starves its workers.
	cfg.QPS, cfg.Burst = -1, -1
	skip := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: Scheme(),
		Logger: o.Log,
		// Values of Secrets and ConfigMaps are read from the server when needed; only their metadata is watched,
		// and a cached read of anything that is not watched is a programming error.
		Cache: cache.Options{
			DefaultTransform:            cache.TransformStripManagedFields(),
			ReaderFailOnMissingInformer: true,
		},
		Metrics:                       metricsserver.Options{BindAddress: orNone(o.MetricsAddress)},
		HealthProbeBindAddress:        orNone(o.HealthAddress),
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              "hermes-operator",
		LeaderElectionNamespace:       o.LeaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptrTo(10 * time.Second),
		Controller:                    config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		return nil, fmt.Errorf("start controller manager: %w", err)
	}
	return mgr, nil
}

func setup(ctx context.Context, mgr ctrl.Manager, o Options) error {
	opts := controller.Options{MaxConcurrentReconciles: workers}
	clk := clock.RealClock{}
	p := &profile.Reconciler{
		Client: mgr.GetClient(), Values: mgr.GetAPIReader(),
		Events: mgr.GetEventRecorder(profile.Manager), Clock: clk,
	}
	if err := p.SetupWithManager(ctx, mgr, opts); err != nil {
		return fmt.Errorf("set up profile reconciler: %w", err)
	}
	figures := gateway.NewMetrics(mgr.GetClient())
	if err := figures.Register(metrics.Registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	g := &gateway.Reconciler{
		Metrics: figures,
		Client:  mgr.GetClient(), Events: mgr.GetEventRecorder(gateway.Manager), Clock: clk,
		Engines: o.Engines, HomeRoot: o.HomeRoot, ResolvePath: resolveLinks,
	}
	if err := g.SetupWithManager(mgr, opts); err != nil {
		return fmt.Errorf("set up gateway reconciler: %w", err)
	}
	sched := &schedule.Reconciler{Client: mgr.GetClient(), Events: mgr.GetEventRecorder(schedule.Manager), Clock: clk}
	if err := sched.SetupWithManager(ctx, mgr, opts); err != nil {
		return fmt.Errorf("set up schedule reconciler: %w", err)
	}
	for _, k := range pending.Kinds() {
		r := &pending.Reconciler{Kind: k, Client: mgr.GetClient(), Events: mgr.GetEventRecorder("hermes-" + k.Name), Clock: clk}
		if err := r.SetupWithManager(ctx, mgr, opts); err != nil {
			return fmt.Errorf("set up %s reconciler: %w", k.Name, err)
		}
	}
	return nil
}

// resolveLinks makes two spellings of one directory equal, as far as it exists.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(filepath.Clean(path))
	if dir == "" || dir == path || name == "" {
		return path
	}
	return filepath.Join(resolveLinks(filepath.Clean(dir)), name)
}

func orNone(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

func ptrTo[T any](v T) *T { return &v }
