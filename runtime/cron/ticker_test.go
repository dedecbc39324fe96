package cron

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func newTicker(t testing.TB, clock *fixture, o TickerOptions) *Ticker {
	t.Helper()
	o.Clock, o.Log = clock.clock, logr.Discard()
	ticker, err := NewTicker(o)
	if err != nil {
		t.Fatal(err)
	}
	return ticker
}

// TestOneBrokenStoreDarkensNoOtherC180 ticks a profile whose job file is broken, one that yields, and one that is well.
func TestOneBrokenStoreDarkensNoOtherC180(t *testing.T) {
	broken, stale, well := newFixture(t), newFixture(t), newFixture(t)
	broken.write(t, "not json")
	s := &script{}
	job := well.create(t, NewJob{Schedule: "0 13 * * *"})
	stale.create(t, NewJob{Schedule: "0 13 * * *"})
	for _, f := range []*fixture{broken, stale, well} {
		f.clock.SetTime(job.NextRunAt.Time)
	}
	profiles := []Ticked{
		{"broken", broken.home, scheduler(t, broken.Store, s)},
		{"stale", stale.home, scheduler(t, stale.Store, s, func(o *SchedulerOptions) { o.Yield = func() error { return &StaleCodeError{"A", "B"} } })},
		{"panics", well.home + "/none", nil},
		{"well", well.home, scheduler(t, well.Store, s)},
	}
	ticker := newTicker(t, well, TickerOptions{Profiles: func() ([]Ticked, error) { return profiles, nil }})
	ticker.Cycle(t.Context())
	profiles[3].Scheduler.workers.Wait()
	if s.runs() != 1 {
		t.Errorf("%d runs", s.runs())
	}
	now := well.clock.Now()
	for name, c := range map[string]struct {
		store *Store
		want  Verdict
		says  string
	}{
		"broken": {broken.Store, Failing, "not JSON"},
		"stale":  {stale.Store, StaleCode, "B is installed"},
		"well":   {well.Store, Healthy, ""},
	} {
		m := c.store.Markers()
		if got := Judge(m, now); got.Verdict != c.want || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v from %+v", name, got, m)
		}
		if !m.Heartbeat.Equal(now) || m.Success.IsZero() == (c.want == Healthy) {
			t.Errorf("T-163 %s: %+v", name, m)
		}
	}
	if got := ticker.Ticked(); len(got) != 3 {
		t.Errorf("C-177: ticked set %v", got)
	}
	broken.write(t, `{"jobs":[]}`)
	ticker.Cycle(t.Context())
	if m := broken.Markers(); m.Error != "" || m.Success.IsZero() {
		t.Errorf("C-180: the error is not cleared: %+v", m)
	}
}

func TestGateT164(t *testing.T) {
	f := newFixture(t)
	f.create(t, NewJob{Schedule: "in 1m"})
	f.clock.Step(time.Minute)
	s := &script{}
	c := scheduler(t, f.Store, s)
	answer := func() (bool, error) { panic("gate") }
	ticker := newTicker(t, f, TickerOptions{
		Profiles: func() ([]Ticked, error) { return []Ticked{{"p", f.home, c}}, nil },
		Gate:     func(Ticked) (bool, error) { return answer() },
	})
	ticker.Cycle(t.Context())
	answer = func() (bool, error) { return false, errors.New("unknown") }
	ticker.Cycle(t.Context())
	answer = func() (bool, error) { return false, nil }
	ticker.Cycle(t.Context())
	if m := f.Markers(); s.runs() != 0 || !m.Heartbeat.IsZero() || len(ticker.Ticked()) != 0 {
		t.Errorf("T-164: %d runs, %+v", s.runs(), m)
	}
	answer = func() (bool, error) { return true, nil }
	ticker.Cycle(t.Context())
	c.workers.Wait()
	if s.runs() != 1 {
		t.Error("the ticker did not survive")
	}
}

func TestTickLockT165(t *testing.T) {
	f := newFixture(t)
	f.create(t, NewJob{Schedule: "in 1m"})
	f.clock.Step(time.Minute)
	c := scheduler(t, f.Store, &script{})
	release, err := fileLock(t.Context(), f.inDir(".tick.lock"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Tick(t.Context()); n != 0 || err != nil {
		t.Errorf("T-165 contended: %d, %v", n, err)
	}
	release()
	if err := os.Remove(f.inDir(".tick.lock")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(f.inDir(".tick.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tick(t.Context()); err == nil {
		t.Error("T-165: a lock that cannot be opened is taken for contention")
	}
}

func TestDescriptorBackoffC181(t *testing.T) {
	f := newFixture(t)
	var failure error = &os.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}
	c := scheduler(t, f.Store, &script{}, func(o *SchedulerOptions) { o.Yield = func() error { return failure } })
	reclaimed := 0
	ticker := newTicker(t, f, TickerOptions{
		Profiles: func() ([]Ticked, error) { return []Ticked{{"p", f.home, c}}, nil },
		Reclaim:  func() { reclaimed++ },
	})
	now := f.clock.Now()
	for _, want := range []time.Duration{60, 120, 240, 480, 900, 900} {
		ticker.Cycle(t.Context())
		if got := ticker.nextCycle(now, now).Sub(now); got != want*time.Second {
			t.Errorf("T-165: waits %s, want %d s", got, want)
		}
	}
	if reclaimed != 6 {
		t.Errorf("reclaimed %d times", reclaimed)
	}
	failure = errors.New("something else")
	ticker.Cycle(t.Context())
	if got := ticker.nextCycle(now, now).Sub(now); got != tickEvery {
		t.Errorf("C-181: waits %s after another failure", got)
	}
}

func TestCadenceC170(t *testing.T) {
	f := newFixture(t)
	cycles := make(chan time.Time)
	ticker := newTicker(t, f, TickerOptions{Profiles: func() ([]Ticked, error) { cycles <- f.clock.Now(); return nil, nil }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); ticker.Run(ctx) }()
	first := <-cycles
	waitForWaiter(t, f)
	f.clock.Step(59 * time.Second)
	f.clock.Step(time.Second)
	if second := <-cycles; second.Sub(first) != time.Minute {
		t.Errorf("C-170: %s between cycles", second.Sub(first))
	}
	waitForWaiter(t, f)
	cancel()
	<-done
	last := f.clock.Now()
	if got := ticker.nextCycle(last, last.Add(150*time.Second)); !got.Equal(last.Add(210 * time.Second)) {
		t.Errorf("C-170: after an overrun of 150 s the next is after %s", got.Sub(last))
	}
}

func waitForWaiter(t testing.TB, f *fixture) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !f.clock.HasWaiters() {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the clock")
		}
		<-time.After(time.Millisecond)
	}
}

func BenchmarkTickNoneDue(b *testing.B) {
	f := newFixture(b)
	jobs := make([]Job, 100_000)
	for i := range jobs {
		job, err := build(NewJob{Prompt: "say hello to the world and everybody in it", Schedule: "0 9 * * *"}, testStart, time.UTC)
		if err != nil {
			b.Fatal(err)
		}
		jobs[i] = job
	}
	f.put(b, jobs...)
	c := scheduler(b, f.Store, &script{}, func(o *SchedulerOptions) { o.Log = logr.Discard() })
	info, err := os.Stat(filepath.Join(f.home, "cron", jobsFile))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	for b.Loop() {
		if n, err := c.Tick(context.Background()); n != 0 || err != nil {
			b.Fatal(n, err)
		}
	}
}

// TestProfileThatLeavesT155 takes a profile out of the set while its run goes on: the next cycle neither waits for it nor
// keeps anything of it, and its own end is its scheduler's.
func TestProfileThatLeavesT155(t *testing.T) {
	f, stays := newFixture(t), newFixture(t)
	f.create(t, NewJob{Schedule: "in 1m"})
	f.clock.Step(time.Minute)
	begun, s := make(chan struct{}), &script{}
	s.run = func(ctx context.Context, _ Run) Outcome { close(begun); <-ctx.Done(); return Outcome{} }
	leaving := scheduler(t, f.Store, s)
	profiles := []Ticked{{"leaves", f.home, leaving}, {"stays", stays.home, scheduler(t, stays.Store, &script{})}}
	ticker := newTicker(t, f, TickerOptions{Profiles: func() ([]Ticked, error) { return profiles, nil }})
	ticker.Cycle(t.Context())
	<-begun
	profiles = profiles[1:]
	ticker.Cycle(t.Context())
	if got := ticker.Ticked(); len(got) != 1 || got[0] != stays.home {
		t.Errorf("ticked set %v", got)
	}
	if got := leaving.Running(); len(got) != 1 {
		t.Errorf("the run of the profile that left: %v", got)
	}
}
