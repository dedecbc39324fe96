package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/gofrs/flock"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/controlplane"
)

const (
	// leftoverGrace is how long a control plane whose hermes up was killed gets to end by itself: it holds a
	// pipe to its parent and stops when that closes.
	leftoverGrace = 15 * time.Second
	leftoverPoll  = 20 * time.Millisecond

	// healthyFor is how long a control plane must run for its next crash to count as a first one.
	healthyFor = 10 * time.Minute
)

// Keeper keeps one control plane running.
type Keeper struct {
	options controlplane.Options
	clock   clock.WithTicker
	log     logr.Logger
	current *controlplane.Server
	// Restarts is called after each restart that worked; nil is fine.
	Restarts func(*controlplane.Server)
}

// StartKeeper starts the control plane and returns once it is ready. The error has exit code 75 or 78 when
// the control plane says so.
func StartKeeper(ctx context.Context, o controlplane.Options, clk clock.WithTicker, log logr.Logger) (*Keeper, error) {
	if err := awaitLeftover(ctx, controlplane.Layout{Dir: o.DataDir}); err != nil {
		return nil, err
	}
	server, err := controlplane.Start(ctx, o)
	if err != nil {
		return nil, withCode(err)
	}
	return &Keeper{options: o, clock: clk, log: log, current: server}, nil
}

func withCode(err error) error {
	var ended *controlplane.ExitError
	switch {
	case errors.As(err, &ended) && ended.Busy():
		return exit.Busyf("%w", err)
	case errors.As(err, &ended) && ended.Refused():
		return exit.Refusedf("%w", err)
	}
	return err
}

// awaitLeftover waits until no control plane holds the directory: the one of a killed hermes up is about to
// end. Whoever holds it longer is named by the start that follows.
func awaitLeftover(ctx context.Context, layout controlplane.Layout) error {
	if _, err := os.Stat(layout.Lock()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leftoverGrace)
	defer cancel()
	lock := flock.New(layout.Lock())
	held, err := lock.TryLockContext(ctx, leftoverPoll)
	if held {
		err = lock.Unlock()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("control plane lock: %w", err)
	}
	return nil
}

// Server is the control plane that runs now, or ran last.
func (k *Keeper) Server() *controlplane.Server { return k.current }

// Run restarts the control plane whenever it ends by itself, with back-off from 1 s to 30 s, and stops it in
// order when ctx ends. It returns early only for a reason that a restart cannot cure.
func (k *Keeper) Run(ctx context.Context) error {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 1 << 30, Cap: 30 * time.Second}
	delay := backoff.DelayWithReset(k.clock, healthyFor)
	for {
		select {
		case <-ctx.Done():
			return k.current.Stop(context.WithoutCancel(ctx))
		case <-k.current.Done():
		}
		k.log.Error(k.current.Err(), "Control plane ended by itself")
		if err := k.restart(ctx, delay); err != nil {
			return err
		}
	}
}

func (k *Keeper) restart(ctx context.Context, delay wait.DelayFunc) error {
	for {
		pause := delay()
		k.log.Info("Control plane is started again", "in", pause.Round(time.Millisecond).String())
		timer := k.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		server, err := controlplane.Start(ctx, k.options)
		switch {
		case err == nil:
			k.current = server
			k.log.Info("Control plane runs again", "url", server.URL())
			if k.Restarts != nil {
				k.Restarts(server)
			}
			return nil
		case ctx.Err() != nil:
			return nil
		case exit.Code(withCode(err)) == exit.Refused:
			return withCode(err)
		}
		k.log.Error(err, "Control plane did not start")
	}
}
