package cron

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

const (
	// recoveryEvery is how often rows of dead owners are looked for after the start.
	recoveryEvery = 10 * time.Minute
	// catchUpSpread is the stretch over which the missed occurrences of one tick begin.
	catchUpSpread = 30 * time.Second
	// stopMargin is how long a stopped run may take to return after it was cut off.
	stopMargin = 5 * time.Second
)

// Gate says what may be handed out now.
type Gate struct {
	// Draining hands out nothing: the gateway is about to end.
	Draining bool
	// Paused hands out only what a person asked for (C-206).
	Paused bool
}

// SchedulerOptions are what a scheduler needs besides its store.
type SchedulerOptions struct {
	Log       logr.Logger
	Runner    Runner
	Deliverer Deliverer
	// Directory returns the profile's platforms as they are now; nil is none.
	Directory func() Directory
	// Gate is asked at each tick; nil is open.
	Gate func() Gate
	// Yield returns a [StaleCodeError] when another gateway is to tick the profile; nil never yields.
	Yield func() error
	// CatchUpSpread replaces the 30 s over which missed occurrences of one tick begin; negative is at once.
	CatchUpSpread time.Duration
}

// Scheduler runs the jobs of one profile: what is in flight, how many at once, and the way of each run.
type Scheduler struct {
	store   *Store
	options SchedulerOptions
	limit   limiter
	flights flights
	workers sync.WaitGroup
	context context.Context
	cancel  context.CancelFunc

	mu        sync.Mutex
	stopping  bool
	recovered time.Time
}

// NewScheduler returns a scheduler over a store. It does nothing until it is ticked, and must be stopped.
func NewScheduler(store *Store, o SchedulerOptions) (*Scheduler, error) {
	if o.Runner == nil || o.Deliverer == nil {
		return nil, errors.New("cron scheduler: a runner and a deliverer are needed")
	}
	if o.Directory == nil {
		o.Directory = func() Directory { return Directory{} }
	}
	if o.Gate == nil {
		o.Gate = func() Gate { return Gate{} }
	}
	if o.Yield == nil {
		o.Yield = func() error { return nil }
	}
	if o.CatchUpSpread == 0 {
		o.CatchUpSpread = catchUpSpread
	}
	c := &Scheduler{store: store, options: o}
	c.context, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Store returns the store the scheduler works on.
func (c *Scheduler) Store() *Store { return c.store }

// Running returns the ids of the jobs this process has in flight for the profile.
func (c *Scheduler) Running() []string {
	var ids []string
	for _, f := range c.flights.all() {
		ids = append(ids, f.id)
	}
	return ids
}

// IsRunning reports whether this process has the profile's job in flight.
func (c *Scheduler) IsRunning(id string) bool { return c.flights.running(id) }

// Tick hands out what is due and returns how many. A tick that another process is in the middle of is none of ours: it
// returns 0. Any other failure to take the tick's lock is an error.
//
// Implements the order of C-171, T-165.
func (c *Scheduler) Tick(ctx context.Context) (int, error) {
	if err := c.options.Yield(); err != nil {
		return 0, err
	}
	if _, err := os.Stat(c.store.dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil // no job was ever made
	}
	release, err := fileLock(ctx, c.store.inDir(".tick.lock"), 0)
	if errors.Is(err, errContended) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer release()
	gate := c.options.Gate()
	if gate.Draining || c.isStopping() {
		return 0, nil
	}
	c.recover(ctx)
	c.sweep(ctx)
	settings := c.store.settings()
	c.limit.set(settings.MaxParallelJobs)
	found, err := c.store.scan(ctx, scanRequest{running: c.flights.running, manualOnly: gate.Paused, catchUps: c.catchUpsAllowed(settings)})
	if err != nil {
		return 0, err
	}
	c.report(ctx, found)
	return c.dispatch(ctx, found.fire), nil
}

// catchUpsAllowed bounds how many missed occurrences are under way at once, so that a long outage does not come back as a
// storm.
func (c *Scheduler) catchUpsAllowed(s Settings) int {
	burst := s.CatchUpBurst
	if burst < 1 {
		burst = DefaultCatchUpBurst
	}
	return max(burst-c.flights.catchUps(), 0)
}

func (c *Scheduler) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// recover marks what dead processes left, at the first tick and every ten minutes after.
func (c *Scheduler) recover(ctx context.Context) {
	now := c.store.now()
	c.mu.Lock()
	due := c.recovered.IsZero() || now.Sub(c.recovered) >= recoveryEvery
	if due {
		c.recovered = now
	}
	c.mu.Unlock()
	if !due {
		return
	}
	if n, err := c.store.ledger.recover(ctx, c.store.settings()); err != nil {
		c.options.Log.Error(err, "runs of dead processes could not be looked for")
	} else if n > 0 {
		c.options.Log.Info("runs ended with their process", "count", n)
	}
}

// report records what a scan skipped, retired or held back. The job file has it already; what fails here is logged.
func (c *Scheduler) report(ctx context.Context, found scanned) {
	for id, d := range found.skipped {
		c.options.Log.Info("occurrence skipped", "job", id, "scheduled", d.ScheduledAt.Time, "late", time.Duration(d.LatenessSeconds)*time.Second, "reason", d.Reason)
		if err := c.store.ledger.skip(ctx, id, d); err != nil {
			c.options.Log.Error(err, "a skipped occurrence is not in the ledger", "job", id)
		}
	}
	for id, text := range found.diagnostics {
		c.options.Log.Info("one-shot retired", "job", id, "why", text)
		if _, err := c.store.WriteOutput(id, c.store.now(), text+"\n"); err != nil {
			c.options.Log.Error(err, "a diagnostic could not be written", "job", id)
		}
	}
	if found.heldBack > 0 {
		c.options.Log.Info("missed occurrences wait for a later tick", "count", found.heldBack)
	}
	caughtUp := 0
	for _, f := range found.fire {
		if f.kind == CatchUp {
			caughtUp++
		}
	}
	if err := c.store.countCatchUps(caughtUp); err != nil {
		c.options.Log.Error(err, "catch-ups are not counted")
	}
}

// Stop ends the scheduler. What has not begun is given back and stays due; runs may go on until ctx ends, then they are
// recorded as interrupted and cut off.
//
// Implements C-163.
func (c *Scheduler) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	for _, f := range c.flights.all() {
		if f.mu.Lock(); f.claim == nil {
			f.cancel()
		}
		f.mu.Unlock()
	}
	done := make(chan struct{})
	go func() { c.workers.Wait(); close(done) }()
	select {
	case <-done:
		c.cancel()
		return nil
	case <-ctx.Done():
	}
	for _, f := range c.flights.all() {
		c.interruptFlight(f)
	}
	c.cancel()
	select {
	case <-done:
		return nil
	case <-time.After(stopMargin): // real time: a runner that ignores its context must not hold up the end of the process
		return fmt.Errorf("cron scheduler: %d runs did not end when they were cut off", len(c.flights.all()))
	}
}

// interruptFlight records a run as interrupted: the mark is set before the record is written, so that nothing the run says
// from now on can overwrite it.
func (c *Scheduler) interruptFlight(f *flight) {
	claim := f.interrupt()
	if claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopMargin)
	defer cancel()
	const why = "the gateway stopped while the run went on"
	err := c.store.Finish(ctx, *claim, func(j Job, now time.Time) Job {
		j.LastRunAt, j.LastStatus, j.LastError = At(now), StatusInterrupted, why
		if !j.Recurring() {
			j.Enabled, j.State, j.NextRunAt = false, StateError, Instant{}
		}
		return j
	})
	if err != nil && !errors.Is(err, ErrClaimLost) {
		c.options.Log.Error(err, "an interrupted run is not recorded", "job", f.id)
	}
	if f.execID != "" {
		if err := c.store.ledger.interrupt(ctx, f.execID, "interrupted: "+why); err != nil {
			c.options.Log.Error(err, "an interrupted run is not in the ledger", "job", f.id)
		}
	}
}
