package cron

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// tickEvery is the time between two ticks of a profile.
	tickEvery = 60 * time.Second
	// ticksAtOnce is how many profiles are ticked at the same time, so that one whose lock is wedged holds up few others.
	ticksAtOnce = 4
	// maxDescriptorWait bounds the wait after the descriptors of the process ran out.
	maxDescriptorWait = 900 * time.Second
	// yieldLogEvery is how often a yield for one pair of revisions is logged.
	yieldLogEvery = time.Hour
)

// Ticked is one profile that a ticker visits.
type Ticked struct {
	// Name is the profile's name, Home its home directory.
	Name, Home string
	Scheduler  *Scheduler
}

// TickerOptions say what a ticker visits.
type TickerOptions struct {
	Clock clock.WithTicker
	Log   logr.Logger
	// Profiles lists what this process serves; it is asked at every cycle.
	Profiles func() ([]Ticked, error)
	// Gate rejects a home that runs its own gateway; nil rejects none. A rejected home is neither ticked nor marked.
	Gate func(Ticked) (bool, error)
	// Every replaces the 60 s between two cycles.
	Every time.Duration
	// Reclaim gives descriptors back when they have run out; nil does nothing.
	Reclaim func()
}

// Ticker ticks every profile that its process serves. Each profile has its own scheduler, store and markers, so what
// goes wrong in one shows in that one alone.
//
// Implements C-170, C-177 to C-181.
type Ticker struct {
	options TickerOptions

	mu        sync.Mutex
	ticked    []string
	exhausted int
	yields    map[string]time.Time
}

// NewTicker returns a ticker; [Ticker.Run] starts it.
func NewTicker(o TickerOptions) (*Ticker, error) {
	if o.Profiles == nil {
		return nil, errors.New("cron ticker: something to list the profiles is needed")
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Every <= 0 {
		o.Every = tickEvery
	}
	return &Ticker{options: o, yields: map[string]time.Time{}}, nil
}

// Run ticks until ctx ends. Cycles keep to their times; one that takes too long moves the times and never makes up for
// what it missed by ticking faster.
func (t *Ticker) Run(ctx context.Context) {
	next := t.options.Clock.Now()
	for ctx.Err() == nil {
		t.Cycle(ctx)
		next = t.nextCycle(next, t.options.Clock.Now())
		timer := t.options.Clock.NewTimer(next.Sub(t.options.Clock.Now()))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// nextCycle is when the next cycle begins, after one that was due at last and ended now.
func (t *Ticker) nextCycle(last, now time.Time) time.Time {
	if wait := t.descriptorWait(); wait > 0 {
		return now.Add(wait)
	}
	if next := last.Add(t.options.Every); next.After(now) {
		return next
	}
	return now.Add(t.options.Every)
}

// descriptorWait is how long to wait after the descriptors ran out n times in a row: 60, 120, 240, 480, 900 s.
//
// Implements C-181.
func (t *Ticker) descriptorWait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exhausted == 0 {
		return 0
	}
	return min(tickEvery<<min(t.exhausted-1, 4), maxDescriptorWait)
}

// Ticked returns the homes of the current cycle.
func (t *Ticker) Ticked() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.ticked...)
}

// Cycle visits every profile once. A list or a gate that fails ticks nothing in this cycle.
func (t *Ticker) Cycle(ctx context.Context) {
	profiles, err := t.visited()
	if err != nil {
		t.options.Log.Error(err, "nothing is ticked in this cycle")
		return
	}
	homes := make([]string, len(profiles))
	for i, p := range profiles {
		homes[i] = p.Home
	}
	t.mu.Lock()
	t.ticked = homes // before the first tick, which asks whether it owns its home
	t.mu.Unlock()
	var wait sync.WaitGroup
	var ranOut atomic.Bool
	places := make(chan struct{}, ticksAtOnce)
	for _, p := range profiles {
		places <- struct{}{}
		wait.Go(func() {
			defer func() { <-places }()
			if err := t.visit(ctx, p); descriptorsRanOut(err) {
				ranOut.Store(true)
			}
		})
	}
	wait.Wait()
	t.countExhaustion(ranOut.Load())
}

func (t *Ticker) countExhaustion(ranOut bool) {
	t.mu.Lock()
	if ranOut {
		t.exhausted++
	} else {
		t.exhausted = 0
	}
	t.mu.Unlock()
	if ranOut && t.options.Reclaim != nil {
		t.options.Reclaim()
	}
}

func descriptorsRanOut(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// visited lists the profiles of this cycle: those that are served, whose home is there, and that the gate lets pass.
func (t *Ticker) visited() (kept []Ticked, err error) {
	defer recovered(&err)
	all, err := t.options.Profiles()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, p := range all {
		if _, err := os.Stat(p.Home); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if t.options.Gate != nil {
			pass, err := t.options.Gate(p)
			if err != nil {
				return nil, fmt.Errorf("gate of profile %s: %w", p.Name, err)
			}
			if !pass {
				continue
			}
		}
		kept = append(kept, p)
	}
	return kept, nil
}

// visit ticks one profile and leaves its markers.
func (t *Ticker) visit(ctx context.Context, p Ticked) error {
	store := p.Scheduler.Store()
	if err := store.heartbeat(); err != nil {
		t.options.Log.Error(err, "no heartbeat", "profile", p.Name)
	}
	err := tickOnce(ctx, p.Scheduler)
	switch {
	case isYield(err):
		t.logYield(p, err)
	case err != nil:
		t.options.Log.Error(err, "tick", "profile", p.Name)
	}
	if marked := store.mark(err); marked != nil {
		t.options.Log.Error(marked, "markers are not written", "profile", p.Name)
	}
	return err
}

func tickOnce(ctx context.Context, s *Scheduler) (err error) {
	defer recovered(&err)
	_, err = s.Tick(ctx)
	return err
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// logYield logs a yield once an hour for each pair of revisions.
func (t *Ticker) logYield(p Ticked, err error) {
	now := t.options.Clock.Now()
	t.mu.Lock()
	last, known := t.yields[err.Error()]
	if !known || now.Sub(last) >= yieldLogEvery {
		t.yields[err.Error()] = now
		known = false
	}
	t.mu.Unlock()
	if !known {
		t.options.Log.Error(err, "restart the gateway so that it runs the installed code", "profile", p.Name)
	}
}
