package local

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/runtime/host"
)

// stopMargin is what hermes up needs beside the gateways: the operator's own end (10 s at most) and the
// control plane's (10 s), with room.
const stopMargin = 30 * time.Second

// Down stops what hermes up started.
type Down struct {
	Data datadir.Dir
	// DataNamed says whether the reader named the directory.
	DataNamed bool
	// KeepGateways leaves them running for the next hermes up.
	KeepGateways bool
	// GatewayBudget is the longest the gateways may take to stop.
	GatewayBudget time.Duration
	// NewEngine makes an engine to stop gateways with when hermes up is not there to do it.
	NewEngine func() (Engine, error)
	// Say tells the reader what happens.
	Say func(format string, args ...any)
}

// Run stops hermes up and waits until it is gone. When it is gone already, it stops what it left behind. It
// is safe to call at any time and as often as one likes.
func (d Down) Run(ctx context.Context) error {
	if _, err := os.Stat(string(d.Data)); err != nil {
		if d.DataNamed {
			d.Say("nothing runs for %s", d.Data)
		} else {
			d.Say("nothing runs for %s: name another data directory with --data or HERMES_DATA", d.Data)
		}
		return nil
	}
	if owner, ok := d.Data.Up(); ok {
		return d.stopUp(ctx, owner)
	}
	return d.stopLeftovers(ctx)
}

func (d Down) stopUp(ctx context.Context, owner datadir.Owner) error {
	var err error
	if d.KeepGateways {
		err = clearMarker(d.Data)
	} else {
		err = renameio.WriteFile(d.Data.ShutdownGateways(), []byte("hermes down\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("ask for the gateways' stop: %w", err)
	}
	budget := stopMargin
	if !d.KeepGateways {
		budget += d.GatewayBudget
	}
	d.Say("stopping hermes up (pid %d), within %s", owner.PID, budget)
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	gone, err := Terminate(ctx, owner.Process())
	switch {
	case err != nil:
		return err
	case !gone:
		return exit.Busyf("hermes up (pid %d) has not stopped within %s: see %s, and run hermes down again", owner.PID, budget, d.Data.UpLog())
	}
	// A hermes up that was killed in the middle of its stop has left gateways behind.
	return d.stopLeftovers(ctx)
}

// stopLeftovers stops what a hermes up that did not end in order has left: gateways, found by the records
// of the engine. Its control plane ends by itself.
func (d Down) stopLeftovers(ctx context.Context) error {
	lock, _, err := Take(d.Data, time.Now())
	if err != nil {
		return err
	}
	defer lock.Release() //nolint:errcheck // the process ends
	if err := awaitLeftover(ctx, d.Data.ControlPlane()); err != nil {
		return err
	}
	if !d.KeepGateways {
		if err := d.stopKnown(ctx); err != nil {
			return err
		}
	}
	if err := clearMarker(d.Data); err != nil {
		return err
	}
	if d.KeepGateways {
		d.Say("hermes up has ended for %s; its gateways keep running, %s stops them", d.Data, d.Data.Command("down", d.DataNamed))
	} else {
		d.Say("nothing runs for %s any more", d.Data)
	}
	return d.Data.ClearServing()
}

func (d Down) stopKnown(ctx context.Context) error {
	if _, err := os.Stat(d.Data.Engine()); err != nil {
		return nil // no gateway was ever started
	}
	e, err := d.NewEngine()
	if err != nil {
		return err
	}
	defer e.Close() //nolint:errcheck // the process ends
	known, err := e.Known()
	if err != nil || len(known) == 0 {
		return err
	}
	d.Say("stopping gateway %s", names(known))
	ctx, cancel := context.WithTimeout(ctx, d.GatewayBudget)
	defer cancel()
	if err := StopGateways(ctx, e); err != nil {
		return exit.Busyf("%w: run hermes down again", err)
	}
	return nil
}

// Terminate asks a process to end and waits until it has, or until ctx ends. It signals through a handle
// that is checked against the recorded identity, so that it can never hit a later process of the same pid.
func Terminate(ctx context.Context, p host.ProcessID) (gone bool, err error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err == unix.ESRCH {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("pid %d: %w", p.PID, err)
	}
	defer unix.Close(fd) //nolint:errcheck // read-only handle
	// The handle is fixed on a process now; only if that one is the recorded one may it be signalled.
	if host.ProcessLiveness(p) != host.Alive {
		return true, nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0); err != nil && err != unix.ESRCH {
		return false, fmt.Errorf("signal pid %d: %w", p.PID, err)
	}
	return awaitExit(ctx, fd)
}

// awaitExit waits for the process behind a pidfd. A second at a time, so that ctx is noticed.
func awaitExit(ctx context.Context, fd int) (bool, error) {
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(time.Second/time.Millisecond))
		if err != nil && err != unix.EINTR {
			return false, fmt.Errorf("wait for a process: %w", err)
		}
		if n > 0 {
			return true, nil
		}
	}
	return false, nil
}
