package profile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/runtime/host"
)

// runsPoll is how often the end of runs is looked for by whoever waits for them.
const runsPoll = 50 * time.Millisecond

// ErrNotTicking means that the jobs of the profile are another gateway's to hand out.
var ErrNotTicking = errors.New("another gateway hands out the jobs of this profile")

// jobs is a profile's scheduled work. Nothing is made before somebody asks for it.
type jobs struct {
	mu        sync.Mutex
	scheduler *cron.Scheduler
	// stopping ends with the profile: no scheduler is made any more.
	stopping bool
}

// Scheduler returns what runs the profile's jobs, and makes it when it is not there. It touches no file.
//
// Implements C-173: one scheduler a profile, and nothing shared.
func (r *Runtime) Scheduler() (*cron.Scheduler, error) {
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if r.jobs.scheduler != nil {
		return r.jobs.scheduler, nil
	}
	if r.jobs.stopping {
		return nil, ErrClosed
	}
	store, err := cron.Open(r.o.Paths.Home, cron.Options{Clock: r.o.Clock, Log: r.o.Log, Settings: r.cronSettings, Owner: cronOwner()})
	if err != nil {
		return nil, err
	}
	r.jobs.scheduler, err = cron.NewScheduler(store, cron.SchedulerOptions{
		Log: r.o.Log, Runner: cronRunner{r}, Deliverer: cronDeliverer{r}, Directory: cronDirectory, Gate: r.cronGate,
	})
	return r.jobs.scheduler, err
}

// Jobs returns the profile's job store.
func (r *Runtime) Jobs() (*cron.Store, error) {
	s, err := r.Scheduler()
	if err != nil {
		return nil, err
	}
	return s.Store(), nil
}

// Ticked returns the profile as a ticker visits it; false while it has no jobs, which costs one stat.
func (r *Runtime) Ticked() (cron.Ticked, bool) {
	if _, err := os.Stat(filepath.Join(r.o.Paths.Cron(), "jobs.json")); errors.Is(err, fs.ErrNotExist) {
		return cron.Ticked{}, false
	}
	s, err := r.Scheduler()
	if err != nil {
		return cron.Ticked{}, false // it closes
	}
	return cron.Ticked{Name: r.Name(), Home: r.o.Paths.Home, Scheduler: s}, true
}

// cronGate keeps a profile that drains from handing out jobs.
func (r *Runtime) cronGate() cron.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cron.Gate{Draining: r.draining || r.closed}
}

// RunningJobs lists the ids of the jobs that run here.
func (r *Runtime) RunningJobs() []string {
	r.jobs.mu.Lock()
	s := r.jobs.scheduler
	r.jobs.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Running()
}

// TickJobs ticks the profile's jobs now and returns how many were handed out; with wait it returns when none runs here
// any more.
func (r *Runtime) TickJobs(ctx context.Context, wait bool) (n int, err error) {
	if err := r.admit(); err != nil {
		return 0, err
	}
	defer r.leave()
	defer r.catch(&err)
	if r.o.MayTick != nil && !r.o.MayTick() {
		return 0, ErrNotTicking
	}
	s, err := r.Scheduler()
	if err != nil {
		return 0, err
	}
	if n, err = s.Tick(ctx); err != nil || !wait {
		return n, err
	}
	for len(s.Running()) > 0 {
		timer := r.o.Clock.NewTimer(runsPoll)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return n, context.Cause(ctx)
		case <-r.closing.Done():
			timer.Stop()
			return n, ErrClosed
		}
	}
	return n, nil
}

// TriggerJob makes a job due now. In a gateway it begins at once, unless the gateway may not tick the profile; elsewhere
// it waits for a tick.
func (r *Runtime) TriggerJob(ctx context.Context, ref, prompt string) (cron.Job, error) {
	store, err := r.Jobs()
	if err != nil {
		return cron.Job{}, err
	}
	job, err := store.Trigger(ctx, ref, prompt)
	if err != nil || r.o.MayTick == nil || !r.o.MayTick() {
		return job, err
	}
	if _, err := r.TickJobs(ctx, false); err != nil {
		r.o.Log.Error(err, "a job that was asked for waits for the next tick", "job", job.ID)
	}
	return job, nil
}

// stopJobs ends the scheduler: runs may go on until ctx ends, and are recorded as interrupted then.
//
// Implements C-163.
func (r *Runtime) stopJobs(ctx context.Context) error {
	r.jobs.mu.Lock()
	r.jobs.stopping = true
	s := r.jobs.scheduler
	r.jobs.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Stop(ctx)
}

// closeJobs cuts off what runs and closes the ledger.
func (r *Runtime) closeJobs() error {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	err := r.stopJobs(over)
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	if r.jobs.scheduler == nil {
		return err
	}
	return errors.Join(err, r.jobs.scheduler.Store().Close())
}

// cronOwner is this process, as claims name it.
func cronOwner() cron.Owner {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "localhost"
	}
	pid := os.Getpid()
	return cron.Owner{Host: name, PID: pid, StartedAt: host.Observe(pid).StartTime, Life: processLife}
}

// processLife judges a process of this host. A pid that somebody has proves life only for the very process that began
// then; without a start to compare it is alive.
func processLife(pid int, startedAt int64) cron.Life {
	seen := host.Observe(pid)
	if startedAt == 0 {
		startedAt = seen.StartTime
	}
	switch host.JudgeProcess(host.ProcessID{PID: pid, StartTime: startedAt}, seen) {
	case host.Alive:
		return cron.LifeAlive
	case host.Dead:
		return cron.LifeDead
	}
	return cron.LifeUnknown
}
