package hostctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/host"
)

const (
	// killAfter is how long a gateway without work may take to end.
	killAfter = 5 * time.Second
	// endedEvery is how often the end is looked for.
	endedEvery = 20 * time.Millisecond
)

// End ends the process of a gateway: it is asked to drain and given the time it names for work in flight, then SIGTERM,
// and SIGKILL 5 s later. Every signal is guarded by home and start time. The dead record is retracted afterwards.
// Implements the stopping part of G-282, G-213, G-228 and T-063.
func (h *Host) End(ctx context.Context, o attach.Owner) error {
	client := host.NewClient(o.Home)
	work := time.Duration(0)
	if id, err := client.Identify(ctx); err == nil && id.PID == o.PID {
		if state, err := client.Drain(ctx); err == nil && state.ActiveWork > 0 {
			work = time.Duration(state.DrainTimeoutSeconds * float64(time.Second))
			h.say("pid %d finishes %d turns, at most %s", o.PID, state.ActiveWork, work)
		}
	}
	if work > 0 {
		if gone, err := h.awaitEnd(ctx, o, work); gone || err != nil {
			return errors.Join(err, h.retract(gone))
		}
	}
	for _, step := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if gone, err := h.signal(o, step); err != nil || gone {
			return errors.Join(err, h.retract(gone))
		}
		patience := h.KillAfter
		if patience == 0 {
			patience = killAfter
		}
		if gone, err := h.awaitEnd(ctx, o, patience); gone || err != nil {
			return errors.Join(err, h.retract(gone))
		}
	}
	return fmt.Errorf("pid %d does not end, not even by SIGKILL", o.PID)
}

// signal sends one signal when the kill guard permits it; gone is true when there is nobody left to send it to.
func (h *Host) signal(o attach.Owner, sig syscall.Signal) (gone bool, err error) {
	record := host.PIDRecord{Kind: host.Kind, PID: o.PID, StartTime: o.StartTime, HermesHome: o.Home}
	switch err := host.MaySignal(record, o.Home, o.StartTime); {
	case errors.Is(err, host.ErrProcessGone), errors.Is(err, host.ErrRecycledPID):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("not signalled: %w", err)
	}
	process, err := os.FindProcess(o.PID)
	if err == nil {
		err = process.Signal(sig)
	}
	if errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return true, nil
	}
	return false, err
}

// awaitEnd waits until the process is gone, at most d.
func (h *Host) awaitEnd(ctx context.Context, o attach.Owner, d time.Duration) (gone bool, err error) {
	over := h.Clock.NewTimer(d)
	defer over.Stop()
	ticker := h.Clock.NewTicker(endedEvery)
	defer ticker.Stop()
	for {
		if host.ProcessLiveness(host.ProcessID{PID: o.PID, StartTime: o.StartTime}) == host.Dead {
			return true, nil
		}
		select {
		case <-ticker.C():
		case <-over.C():
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// retract removes the record of a process that is gone, so that nobody attaches to a corpse. Implements G-228.
func (h *Host) retract(gone bool) error {
	if !gone {
		return nil
	}
	_, err := h.Rendezvous.DiscardDead()
	return err
}
