package cron

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// sourceTick marks executions that the tick handed out.
const sourceTick = "builtin"

// dispatch starts a worker for each occurrence that was handed out and returns how many.
//
// Implements C-172.
func (c *Scheduler) dispatch(ctx context.Context, fire []firing) int {
	started, caughtUp, missed := 0, 0, 0
	for _, f := range fire {
		if f.kind == CatchUp {
			missed++
		}
	}
	for _, f := range fire {
		var delay time.Duration
		if f.kind == CatchUp {
			delay = spread(caughtUp, missed, c.options.CatchUpSpread)
			caughtUp++
		}
		if c.start(ctx, f, delay) {
			started++
		}
	}
	return started
}

// spread returns the delay of the i-th of n runs that begin within a stretch: each in its own part of it, at a random
// place, so that neither they nor the profiles of a host begin at one instant.
func spread(i, n int, stretch time.Duration) time.Duration {
	if stretch <= 0 || n < 1 {
		return 0
	}
	part := stretch / time.Duration(n)
	return time.Duration(i)*part + rand.N(max(part, 1))
}

// start registers a flight and begins its worker; false when the job is in flight already or the scheduler stops.
func (c *Scheduler) start(ctx context.Context, f firing, delay time.Duration) bool {
	running, cancel := context.WithCancel(c.context)
	fl := &flight{firing: f, since: c.store.now(), cancel: cancel}
	c.mu.Lock()
	admitted := !c.stopping && c.flights.add(fl)
	if admitted {
		c.workers.Add(1) // under the lock that Stop takes before it waits
	}
	c.mu.Unlock()
	if !admitted {
		cancel()
		c.giveBack(ctx, f)
		return false
	}
	id, err := c.store.ledger.begin(ctx, f, sourceTick)
	if err != nil {
		c.options.Log.Error(err, "a run is not in the ledger", "job", f.id) // and goes on without it
	}
	fl.execID = id
	go func() {
		defer c.workers.Done()
		defer cancel()
		defer c.flights.drop(fl)
		c.work(running, fl, delay)
	}()
	return true
}

func (c *Scheduler) giveBack(ctx context.Context, f firing) {
	if err := c.store.release(context.WithoutCancel(ctx), f); err != nil {
		c.options.Log.Error(err, "a one-shot could not be given back", "job", f.id)
	}
}

// work takes one occurrence from waiting to its end.
func (c *Scheduler) work(ctx context.Context, f *flight, delay time.Duration) {
	if err := c.wait(ctx, delay); err != nil {
		c.abandon(ctx, f, "not begun: the scheduler stopped")
		return
	}
	defer f.place.Do(c.limit.release)
	claim, err := c.store.Claim(ctx, f.id, FireRequest{Slot: f.slot, Manual: f.kind == Manual})
	if err != nil {
		c.abandon(ctx, f, err.Error())
		if !errors.Is(err, ErrClaimLost) && ctx.Err() == nil {
			c.options.Log.Error(err, "a run could not be started", "job", f.id)
			if err := c.store.recordFireError(ctx, f.id, err.Error()); err != nil {
				c.options.Log.Error(err, "and that is not recorded", "job", f.id)
			}
		}
		return
	}
	f.setClaim(&claim)
	if f.wasInterrupted() || ctx.Err() != nil { // stopped while it was being claimed
		c.interruptFlight(f)
		return
	}
	if f.execID != "" {
		if err := c.store.ledger.start(ctx, f.execID); err != nil {
			c.options.Log.Error(err, "the start of a run is not in the ledger", "job", f.id)
		}
	}
	alive, stopBeating := context.WithCancel(ctx)
	beaten := make(chan struct{})
	go func() { defer close(beaten); c.beat(alive, claim, f.cut) }()
	outcome := c.run(ctx, f, claim)
	stopBeatingAnd := func() { stopBeating(); <-beaten }
	// The heart beats on while the result is delivered, which may take long.
	c.finish(context.WithoutCancel(ctx), f, claim, outcome, stopBeatingAnd)
	stopBeatingAnd()
}

// wait waits for the run's turn: its place in the spread of a catch-up, then a place among the profile's runs.
func (c *Scheduler) wait(ctx context.Context, delay time.Duration) error {
	if delay > 0 {
		timer := c.store.options.Clock.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c.limit.acquire(ctx)
}

// abandon ends an occurrence that was not begun. A recurring one keeps its stamp and is restored; a one-shot is given back.
func (c *Scheduler) abandon(ctx context.Context, f *flight, why string) {
	ctx = context.WithoutCancel(ctx)
	c.giveBack(ctx, f.firing)
	if f.execID == "" {
		return
	}
	if err := c.store.ledger.finish(ctx, f.execID, ExecutionClaimed, ExecutionFailed, why, ""); err != nil {
		c.options.Log.Error(err, "an occurrence that was not begun is not in the ledger", "job", f.id)
	}
}

// beat refreshes the claim until ctx ends, and cuts the run off when the claim is somebody else's.
func (c *Scheduler) beat(ctx context.Context, claim Claim, cutOff func()) {
	ticker := c.store.options.Clock.NewTicker(fireHeartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		err := c.store.Refresh(ctx, claim)
		if errors.Is(err, ErrClaimLost) {
			c.options.Log.Info("run cut off", "job", claim.Job.ID, "why", err.Error())
			cutOff()
			return
		}
		if err != nil && ctx.Err() == nil {
			c.options.Log.Error(err, "a claim could not be refreshed", "job", claim.Job.ID)
		}
	}
}

// run asks the runner. A panic in it fails the run and nothing else.
func (c *Scheduler) run(ctx context.Context, f *flight, claim Claim) (outcome Outcome) {
	defer func() {
		if p := recover(); p != nil {
			c.options.Log.Error(fmt.Errorf("panic: %v", p), "a run panicked", "job", f.id, "stack", string(debug.Stack()))
			outcome = Outcome{Err: fmt.Errorf("the run panicked: %v", p)}
		}
	}()
	if err := CheckTargets(claim.Job.Deliver, c.options.Directory()); err != nil {
		return Outcome{Blocked: err.Error()}
	}
	return c.options.Runner.Run(ctx, Run{Job: claim.Job, ExecutionID: f.execID, Prompt: claim.Prompt, Occurrence: claim.Occurrence.Time, Manual: claim.Manual})
}
