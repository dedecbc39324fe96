package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// Manager is the field manager of everything the agent writes.
const Manager = "hermes-node"

// workers is how many homes are written and opened at once.
const workers = 8

// Health is what is known of one open profile.
type Health struct {
	// Reason is empty while the profile answers, else one of the v1alpha1.Reason constants.
	Reason string
	// Message says what is wrong and what to do; with no reason it is a short summary.
	Message string
	// Store is what was last seen of the session store, nil before it was opened.
	Store *v1alpha1.StoreStatus
	// Backup is what condition BackedUp says, nil when nothing is scheduled or known.
	Backup *BackupHealth
}

// Profiles is the set of open profiles that the agent converges.
type Profiles interface {
	// Open opens a profile whose home is written, or makes an open one take over the newly written home. What is
	// declared holds against the files of the home from then on; nil has it recalled from the home and checked.
	Open(ctx context.Context, paths home.Paths, declared *home.Declaration) error
	// Close lets go of a profile: turns are interrupted, the store is closed. Closing one that is not open is no error.
	Close(ctx context.Context, name string) error
	// Health returns what is known of a profile; ok is false when it is not open.
	Health(name string) (h Health, ok bool)
	// Served lists the open profiles by name, sorted.
	Served() []string
	// Jobs returns the job store of an open profile; ok is false when it is not open.
	Jobs(name string) (store JobStore, ok bool)
	// Changes announces open profiles whose health changed by itself.
	Changes() <-chan string
}

// Options of an agent.
type Options struct {
	// Config reaches the API server.
	Config *rest.Config
	// Namespace and Gateway name the Gateway object this process is.
	Namespace, Gateway string
	// Instance is the id of this run.
	Instance string
	// Root is the home root.
	Root string
	// AdoptExisting lets declared files replace files that a person made, after a backup.
	AdoptExisting bool
	// Profiles is the set to converge.
	Profiles Profiles
	// Clock stamps condition transitions and paces store reports.
	Clock clock.PassiveClock
	// Log receives what the agent does.
	Log logr.Logger
}

// Scheme returns the types that the agent reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		return nil, err
	}
	return s, v1alpha1.AddToScheme(s)
}

// Run watches and reports until ctx ends. An API server that is away is waited
// for: the profiles that are open go on answering meanwhile.
func Run(ctx context.Context, o Options) error {
	backoff := time.Second
	for {
		err := run(ctx, o)
		if ctx.Err() != nil {
			return nil
		}
		o.Log.Error(err, "the node agent lost the API server and tries again", "after", backoff)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff):
		}
		backoff = min(backoff*2, 30*time.Second)
	}
}

func run(ctx context.Context, o Options) error {
	mgr, err := newManager(o)
	if err != nil {
		return err
	}
	g := &gatewayAgent{Options: o, client: mgr.GetClient()}
	jobs := &scheduleAgent{Options: o, client: mgr.GetClient()}
	if err := jobs.setup(ctx, mgr); err != nil {
		return fmt.Errorf("set up schedule agent: %w", err)
	}
	p := &profileAgent{Options: o, client: mgr.GetClient(), written: map[string]writtenHome{}, served: g.poke, opened: jobs.look}
	if err := p.setup(mgr); err != nil {
		return fmt.Errorf("set up profile agent: %w", err)
	}
	if err := g.setup(mgr); err != nil {
		return fmt.Errorf("set up gateway agent: %w", err)
	}
	fan := newFan(o.Profiles.Changes(), o.Namespace, p.changed)
	if err := errors.Join(mgr.Add(fan), mgr.Add(drift{agent: p, every: driftLook})); err != nil {
		return err
	}
	if err := mgr.Add(driftWatch{jobs}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(o Options) (ctrl.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	cfg := rest.CopyConfig(o.Config)
	cfg.QPS, cfg.Burst = -1, -1
	here := map[string]cache.Config{o.Namespace: {}}
	skip := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme,
		Logger: o.Log,
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true,
			DefaultNamespaces:           here,
			DefaultTransform:            cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&v1alpha1.Profile{}: {Field: fields.OneTermEqualSelector("spec.gatewayRef.name", o.Gateway)},
				&v1alpha1.Gateway{}: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, o.Gateway)},
				&corev1.Secret{}:    {Label: labels.SelectorFromSet(labels.Set{v1alpha1.LabelGateway: o.Gateway})},
			},
		},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		// The gateway stops its profiles itself; the agent has nothing to finish.
		GracefulShutdownTimeout: new(time.Duration),
		Controller:              config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return mgr, nil
}
