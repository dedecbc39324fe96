package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/llm"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/node"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/tools"
)

// closeMargin is what a stop may take beyond the drain: closing stores and sockets.
const closeMargin = 5 * time.Second

// Options of a gateway process.
type Options struct {
	// Home is the absolute home root.
	Home string
	// Namespace and Name are those of the Gateway object.
	Namespace, Name string
	// Config reaches the API server; nil serves what is on disk and reports to nobody.
	Config *rest.Config
	// RunID identifies this run.
	RunID string
	// DrainTimeout bounds the wait for turns in flight when the process stops.
	DrainTimeout time.Duration
	// AdoptExistingHome allows a root that holds somebody's unmanaged home.
	AdoptExistingHome bool
	// LockDir is the rendezvous directory.
	LockDir string
	// TempDir holds sockets whose path in the home would be too long.
	TempDir string
	// Supervisor says who started the process.
	Supervisor host.Supervisor
	// Revision of the code.
	Revision string
	// Orphans of this process, which ends them all when the gateway stops; nil when the process is not the
	// gateway's alone.
	Orphans *tools.Orphans
	// MayTick reports whether this gateway may hand out the scheduled jobs of a profile now; nil may always, while it
	// holds its home. It must not block.
	MayTick func(profile string) bool
	// TickEvery is the time between two ticks of scheduled jobs; 0 means 60 s.
	TickEvery time.Duration
	// Guarded are directories that the file tools of no profile use, such as that of the control plane.
	Guarded []string
	// ByHand is set for a gateway that serves the profiles it finds on disk; nil for a declared one.
	ByHand *ByHand
	// Restart asks for a restart after the drain: Run then ends with an error for which IsRestart is true. Nil never asks.
	Restart <-chan struct{}
	// InheritedAPI is the API socket of the run that this one follows in the same process; nil for none.
	InheritedAPI *os.File
	// Argv of the process, for the pid record.
	Argv  []string
	Clock profile.Clock
	Log   logr.Logger
}

// gateway is one running gateway process.
type gateway struct {
	o          Options
	claim      *host.HomeClaim
	rendezvous *host.Rendezvous
	control    *host.Server
	state      *host.StateFile
	api        *localapi.Server
	profiles   *profiles
	metrics    *metrics
	identity   host.PIDRecord
	draining   atomic.Bool
	started    atomic.Bool
	// recordSoon wakes the writer of the served set's records.
	recordSoon chan struct{}
	// stop asks the process to end.
	stop context.CancelFunc
	// disk serves the profiles on disk, nil in a declared gateway; standaloneReason says why it serves only one.
	disk             *disk
	standaloneReason string
	restarting       atomic.Bool
	// handedOver is the API socket for the run that follows this one.
	handedOver *os.File
}

// Run serves until ctx ends or a drain was asked for over the control socket, then
// drains and closes. It returns a Refusal when the gateway must not start.
func Run(ctx context.Context, o Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := &gateway{o: o, metrics: newMetrics(), stop: stop, recordSoon: make(chan struct{}, 1)}
	if err := g.claimHome(); err != nil {
		return err
	}
	defer g.release()
	if o.ByHand != nil {
		if err := g.openByHand(ctx); err != nil {
			return err
		}
	}
	if err := g.open(); err != nil {
		return err
	}
	var background sync.WaitGroup
	background.Go(func() { g.recordServed(ctx) })
	background.Go(func() { o.Orphans.Run(ctx) })
	background.Go(func() { g.tickJobs(ctx) })
	background.Go(func() { g.awaitRestart(ctx) })
	g.serve(ctx)
	background.Wait()
	err := g.shutdown()
	if g.restarting.Load() {
		return errors.Join(err, &Restart{API: g.handedOver})
	}
	return err
}

// claimHome makes the root exist and takes its lock, before anything is opened below it.
func (g *gateway) claimHome() error {
	o := g.o
	if err := os.MkdirAll(o.Home, 0o700); err != nil {
		return refuse(v1alpha1.ReasonHomeUnwritable, ExitTemporary, "create home %s: %w", o.Home, err)
	}
	if o.ByHand == nil {
		if err := checkRoot(o.Home, o.AdoptExistingHome); err != nil {
			return err
		}
	}
	g.identity = host.NewPIDRecord(o.Home, o.Argv)
	res := host.ClaimHome(o.Home, g.identity, o.Log)
	switch {
	case res.Outcome == host.CouldNotOpen:
		return refuse(v1alpha1.ReasonHomeUnwritable, ExitTemporary, "lock home %s: %w", o.Home, res.Err)
	case res.Outcome != host.Acquired:
		return lockRefusal(o.Home, res)
	case res.Err != nil:
		return errors.Join(lockRefusal(o.Home, res), res.Claim.Release())
	}
	g.claim = res.Claim
	return nil
}

func (g *gateway) release() {
	if g.rendezvous != nil {
		if err := g.rendezvous.Clear(); err != nil {
			g.o.Log.Error(err, "clear rendezvous record")
		}
	}
	if err := g.claim.Release(); err != nil {
		g.o.Log.Error(err, "release home")
	}
}

// open makes what the process answers with: profiles, local API, control socket, records.
func (g *gateway) open() error {
	o := g.o
	previous, _ := host.ReadState(o.Home)
	g.state = host.NewStateFile(g.identity, host.CodeIdentity{Revision: o.Revision}, o.Clock)
	g.profiles = newProfiles(o.RunID, o.Orphans, llm.NewTransport(30*time.Second), o.Clock, g.metrics, o.Log)
	g.profiles.mayTick = g.mayTick
	g.profiles.guarded = o.Guarded
	api, err := localapi.Serve(localapi.Config{
		Home: o.Home, TempDir: o.TempDir, Inherited: o.InheritedAPI, Closed: true, Backend: backend{g.profiles, &g.draining}, Metrics: g.metrics.registry, Clock: o.Clock, Log: o.Log,
	})
	if err != nil {
		return errors.Join(refuse(v1alpha1.ReasonHomeUnwritable, ExitTemporary, "open the API socket: %w", err), g.closeAll())
	}
	g.api = api
	g.control, err = host.Serve(host.ServerConfig{Home: o.Home, TempDir: o.TempDir, Handler: control{g}, Log: o.Log})
	if err != nil {
		if o.Supervisor == host.SupervisorExternal {
			// Whoever supervises this run proves its identity over the socket and would wait for it in vain.
			return errors.Join(refuse(v1alpha1.ReasonHomeUnwritable, ExitTemporary, "open the control socket: %w", err), g.closeAll())
		}
		// A gateway that cannot be asked can still answer people. Implements G-241.
		o.Log.Error(err, "open the control socket")
	}
	if g.disk != nil {
		g.disk.reconcile(context.Background())
	} else {
		g.claimRendezvous()
		g.openKnown(previous.ServedProfiles)
	}
	g.api.Open() // now that there is somebody to ask
	return nil
}

// claimRendezvous publishes this process for those who look for a gateway of the host. A directory that
// cannot be used keeps nobody from starting. Implements G-225 and G-226.
func (g *gateway) claimRendezvous() {
	r, err := g.newRendezvous()
	if err != nil {
		g.o.Log.Error(err, "rendezvous")
		return
	}
	if res := r.Claim(host.Offer{Home: g.o.Home, Argv: g.o.Argv}); res.Outcome != host.Acquired {
		g.o.Log.Info("rendezvous record not published", "outcome", res.Outcome.String(), "error", fmt.Sprint(res.Err))
		return
	}
	g.rendezvous = r
}

func (g *gateway) newRendezvous() (*host.Rendezvous, error) {
	return host.NewRendezvous(host.RendezvousConfig{
		Dir: g.o.LockDir, Role: host.RoleGateway, DefaultRoot: g.o.Home, UID: os.Getuid(), Clock: g.o.Clock, Log: g.o.Log,
	})
}

// openKnown opens the profiles that the last run served, from their homes on disk,
// so that they answer before, and without, the API server. The node agent corrects
// the set once it has seen the Profiles.
func (g *gateway) openKnown(names host.ServedProfiles) {
	for _, name := range names {
		paths, err := home.ForProfile(g.o.Home, name)
		if err != nil || !g.owns(paths) {
			continue
		}
		if err := g.profiles.Open(context.Background(), paths, nil); err != nil {
			g.o.Log.Error(err, "open profile of the last run", "profile", name)
		}
	}
}

// owns reports whether a home on disk was written for a profile of this gateway.
func (g *gateway) owns(paths home.Paths) bool {
	found, err := home.Inspect(paths.Home)
	return err == nil && found.Ownership == home.HomeManaged && found.Owner.Namespace == g.o.Namespace && found.Owner.Gateway == g.o.Name
}

// serve runs the node agent and keeps the state record true until ctx ends.
func (g *gateway) serve(ctx context.Context) {
	g.started.Store(true)
	g.writeState("running")
	g.o.Log.Info("serving", "home", g.o.Home, "run", g.o.RunID, "api", g.api.Path())
	if g.disk != nil {
		g.servedChanged() // also when there is nobody to serve, the settled set is published
		g.disk.run(ctx)
		return
	}
	if g.o.Config == nil {
		<-ctx.Done()
		return
	}
	err := node.Run(ctx, node.Options{
		Config: g.o.Config, Namespace: g.o.Namespace, Gateway: g.o.Name, Instance: g.o.RunID,
		Root: g.o.Home, AdoptExisting: g.o.AdoptExistingHome, Profiles: publisher{g.profiles, g}, Clock: g.o.Clock, Log: g.o.Log,
	})
	if err != nil {
		g.o.Log.Error(err, "node agent ended")
	}
	<-ctx.Done()
}

// publisher keeps the records of the served set in step with the set.
type publisher struct {
	*profiles
	g *gateway
}

// Open implements node.Profiles.
func (p publisher) Open(ctx context.Context, paths home.Paths, declared *home.Declaration) error {
	_, known := p.lookup(paths.Name)
	err := p.profiles.Open(ctx, paths, declared)
	if !known && err == nil {
		p.g.servedChanged()
	}
	return err
}

// Close implements node.Profiles.
func (p publisher) Close(ctx context.Context, name string) error {
	_, known := p.lookup(name)
	err := p.profiles.Close(ctx, name)
	if known {
		p.g.servedChanged()
	}
	return err
}

// shutdown drains, then closes what was opened, newest first.
func (g *gateway) shutdown() error {
	g.draining.Store(true)
	g.writeState("draining")
	if g.rendezvous != nil {
		if err := g.rendezvous.Retract(); err != nil {
			g.o.Log.Error(err, "retract rendezvous record")
		}
	}
	g.handOver()
	drain, cancel := context.WithTimeout(context.Background(), g.o.DrainTimeout)
	left := g.profiles.drain(drain)
	cancel()
	if left > 0 {
		g.o.Log.Info("drain timeout: interrupting turns in flight", "turns", left)
	}
	err := g.closeAll()
	g.endFamily()
	g.writeState("stopped")
	return err
}

// endFamily ends whatever the tools of any profile have left running. Implements guarantee G9.
func (g *gateway) endFamily() {
	if killed, left := g.o.Orphans.EndAll(); killed+left > 0 {
		g.o.Log.Info("ended processes that tools had left running", "ended", killed, "left", left)
	}
}

// closeAll closes what was opened.
func (g *gateway) closeAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeMargin)
	defer cancel()
	err := g.profiles.shutdown(ctx)
	if g.api != nil {
		err = errors.Join(err, g.api.Close(ctx))
	}
	if g.control != nil {
		err = errors.Join(err, g.control.Close())
	}
	return err
}

// LockDir is the rendezvous directory of a managed gateway: inside its home, so that several gateways of one
// user never meet in one record.
func LockDir(root string) string { return filepath.Join(root, "gateway-locks") }
