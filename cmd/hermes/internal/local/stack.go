package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/bootstrap"
	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/controlplane"
)

// Stack is what hermes up runs: a control plane, an engine, an operator, and whatever else works on them.
type Stack struct {
	Data datadir.Dir
	// APIServer is the path of hermes-apiserver, Address the loopback address asked for ("" for the remembered one).
	APIServer, Address string
	// Version of the running code.
	Version string
	// Demo applies the demo samples.
	Demo  bool
	Clock clock.WithTicker
	Log   logr.Logger

	// NewEngine makes the engine; gateways reach the control plane with the kubeconfig.
	NewEngine func(kubeconfig string) (Engine, error)
	// Operator reconciles until ctx ends, and calls ready once it does.
	Operator func(ctx context.Context, cfg *rest.Config, e Engine, ready func()) error
	// Extra is more work for as long as the operator runs, for example a watched directory.
	Extra []func(ctx context.Context, cfg *rest.Config) error
	// Ready is called once everything answers.
	Ready func(owner datadir.Owner, cfg *rest.Config)
	// StopBudget is the longest the gateways of this control plane may take to stop.
	StopBudget func(ctx context.Context, cfg *rest.Config) time.Duration

	keeper *Keeper
	cfg    *rest.Config
	owner  datadir.Owner
}

// Run starts everything, keeps it running until ctx ends, and stops it in order: the operator, the gateways
// if hermes down asked for it, the control plane.
func (s *Stack) Run(ctx context.Context) (err error) {
	if err := s.Data.Create(); err != nil {
		return exit.Refusedf("%w", err)
	}
	lock, owner, err := Take(s.Data, s.Clock.Now())
	if err != nil {
		return err
	}
	s.owner = owner
	defer func() { err = errors.Join(err, s.Data.ClearServing(), lock.Release()) }()
	// A request that was made of an earlier hermes up says nothing about this one.
	if err := clearMarker(s.Data); err != nil {
		return err
	}
	stopPlane, err := s.startPlane(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop meanwhile
		}
		return err
	}
	defer func() { err = errors.Join(err, stopPlane()) }()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.work(ctx)
}

// startPlane starts the control plane and what keeps it running. stop ends both and returns what went wrong
// with it in the meantime.
func (s *Stack) startPlane(ctx context.Context) (stop func() error, err error) {
	address, err := controlplane.ChooseAddress(s.Data.ControlPlane().Dir, s.Address)
	if err != nil {
		return nil, exit.Refusedf("%w", err)
	}
	s.owner.Address, s.owner.Version = address, s.Version
	s.keeper, err = StartKeeper(ctx, controlplane.Options{
		Binary: s.APIServer, DataDir: s.Data.ControlPlane().Dir, Address: address, Log: s.Log.WithName("controlplane"),
	}, s.Clock, s.Log)
	if err != nil {
		return nil, err
	}
	// Not ctx: the control plane must outlive the operator, which reports to it to the end.
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.keeper.Run(keep) }()
	stop = func() error {
		cancel()
		if err := <-done; err != nil {
			return fmt.Errorf("control plane: %w", err)
		}
		return nil
	}
	if s.cfg, err = s.keeper.Server().RESTConfig(); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (s *Stack) prepare(ctx context.Context) error {
	if err := bootstrap.Run(ctx, s.cfg); err != nil {
		return err
	}
	if s.Demo {
		return bootstrap.Demo(ctx, s.cfg)
	}
	return nil
}

// work runs the engine and everything on top of it until ctx ends.
func (s *Stack) work(ctx context.Context) error {
	engine, err := s.NewEngine(s.Data.ControlPlane().GatewayKubeconfig())
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	failed := make(chan error, 1)
	started := make(chan struct{})
	var once sync.Once
	group.Go(func() {
		err := s.keepOperator(running, engine, func() { once.Do(func() { close(started) }) }, started)
		if err != nil {
			failed <- err
		}
	})
	for _, extra := range s.Extra {
		group.Go(func() {
			if err := extra(running, s.cfg); err != nil && running.Err() == nil {
				s.Log.Error(err, "Part of hermes up ended")
			}
		})
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	case <-started:
		if err = s.Data.WriteServing(s.owner); err != nil {
			break
		}
		s.Ready(s.owner, s.cfg)
		select {
		case err = <-failed:
		case <-ctx.Done():
		}
	}
	cancel()
	group.Wait()
	return errors.Join(err, s.letGo(context.WithoutCancel(ctx), engine))
}

// keepOperator restarts an operator that ends by itself. One that has never worked is a failed start.
func (s *Stack) keepOperator(ctx context.Context, e Engine, ready func(), started <-chan struct{}) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: time.Minute}
	delay := backoff.DelayWithReset(s.Clock, healthyFor)
	for {
		err := s.Operator(ctx, s.cfg, e, ready)
		if ctx.Err() != nil {
			if err != nil {
				s.Log.Error(err, "Operator did not stop in order")
			}
			return nil
		}
		select {
		case <-started:
		default:
			return fmt.Errorf("operator did not start: %w", err)
		}
		pause := delay()
		s.Log.Error(err, "Operator ended by itself and is started again", "in", pause.Round(time.Millisecond).String())
		timer := s.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// letGo leaves the gateways running for the next hermes up, or stops them when hermes down asked for it.
func (s *Stack) letGo(ctx context.Context, e Engine) error {
	var err error
	if s.shutdownRequested() {
		budget := s.StopBudget(ctx, s.cfg)
		s.Log.Info("Stopping gateways", "within", budget.String())
		ctx, cancel := context.WithTimeout(ctx, budget)
		defer cancel()
		err = errors.Join(StopGateways(ctx, e), clearMarker(s.Data))
	}
	return errors.Join(err, e.Close())
}

func (s *Stack) shutdownRequested() bool {
	_, err := os.Stat(s.Data.ShutdownGateways())
	return err == nil
}

func clearMarker(d datadir.Dir) error {
	if err := os.Remove(d.ShutdownGateways()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a request to stop gateways: %w", err)
	}
	return nil
}
