package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// script is a runner and a deliverer that do as a test says and remember what they did.
type script struct {
	run     func(ctx context.Context, r Run) Outcome
	receive func(to Target) (Receipt, error)

	mu        sync.Mutex
	ran       []Run
	delivered []string
}

func (s *script) Run(ctx context.Context, r Run) Outcome {
	s.mu.Lock()
	s.ran = append(s.ran, r)
	s.mu.Unlock()
	if s.run == nil {
		return Outcome{Text: "done"}
	}
	return s.run(ctx, r)
}

func (s *script) Deliver(_ context.Context, to Target, text string, failure bool) (Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delivered = append(s.delivered, fmt.Sprintf("%s:%s failure=%v %s", to.Platform, to.Chat, failure, text))
	if s.receive == nil {
		return Receipt{}, nil
	}
	return s.receive(to)
}

func (s *script) runs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ran)
}

func (s *script) deliveries() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.delivered...)
}

func scheduler(t testing.TB, store *Store, s *script, change ...func(*SchedulerOptions)) *Scheduler {
	t.Helper()
	o := SchedulerOptions{Log: store.options.Log, Runner: s, Deliverer: s, CatchUpSpread: -1,
		Directory: func() Directory {
			return Directory{Platforms: []string{"slack"}, Homes: map[string]Chat{"slack": {ID: "C0"}}}
		}}
	for _, f := range change {
		f(&o)
	}
	c, err := NewScheduler(store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// tick ticks and waits until nothing is in flight.
func tick(t testing.TB, c *Scheduler) int {
	t.Helper()
	n, err := c.Tick(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c.workers.Wait()
	return n
}

func TestTickRunsDeliversAndRecords(t *testing.T) {
	f := newFixture(t)
	s := &script{}
	c := scheduler(t, f.Store, s)
	job := f.create(t, NewJob{Schedule: "0 13 * * *", Deliver: "slack"})
	if n := tick(t, c); n != 0 || s.runs() != 0 {
		t.Fatalf("%d handed out before their time", n)
	}
	f.clock.SetTime(job.NextRunAt.Add(10 * time.Second))
	if n := tick(t, c); n != 1 || s.runs() != 1 {
		t.Fatalf("handed out %d, ran %d", n, s.runs())
	}
	if n := tick(t, c); n != 0 {
		t.Errorf("handed out again")
	}
	got := f.job(t, job.ID)
	if got.LastStatus != StatusOK || got.FireClaim != nil || got.PendingSlot != nil || !got.NextRunAt.Equal(job.NextRunAt.AddDate(0, 0, 1)) || got.Repeat.Completed != 1 {
		t.Errorf("got %+v", got)
	}
	if d := s.deliveries(); len(d) != 1 || d[0] != "slack:C0 failure=false done" {
		t.Errorf("delivered %q", d)
	}
	rows, err := f.Executions(t.Context(), job.ID, 5)
	if err != nil || len(rows) != 1 || rows[0].Status != ExecutionCompleted || !rows[0].Scheduled.Equal(job.NextRunAt.Time) || rows[0].DeliveryOutcome != "sent" || rows[0].Lateness != OnTime {
		t.Errorf("ledger: %+v, %v", rows, err)
	}
	if out, err := f.Outputs(job.ID); err != nil || len(out) != 1 {
		t.Errorf("outputs: %v, %v", out, err)
	}
}

func TestRunEndings(t *testing.T) {
	for _, c := range []struct {
		id       string
		run      func(context.Context, Run) Outcome
		receive  func(Target) (Receipt, error)
		status   string
		says     string
		delivers int
	}{
		{"C-230 silent", func(context.Context, Run) Outcome { return Outcome{Text: "[SILENT]"} }, nil, StatusOK, "", 0},
		{"failure is told", func(context.Context, Run) Outcome { return Outcome{Err: errors.New("boom")} }, nil, StatusError, "boom", 1},
		{"panic stops at the run", func(context.Context, Run) Outcome { panic("ouch") }, nil, StatusError, "ouch", 1},
		{"C-138 delivery failure", nil, func(Target) (Receipt, error) { return Receipt{}, errors.New("offline") }, StatusDeliveryFailed, "", 1},
	} {
		t.Run(c.id, func(t *testing.T) {
			f := newFixture(t)
			s := &script{run: c.run, receive: c.receive}
			job := f.create(t, NewJob{Schedule: "in 1m", Deliver: "slack:C7"})
			f.clock.SetTime(job.NextRunAt.Time)
			tick(t, scheduler(t, f.Store, s, func(o *SchedulerOptions) { o.Log = logr.Discard() }))
			got := f.job(t, job.ID)
			if got.LastStatus != c.status || !strings.Contains(got.LastError, c.says) || got.State != StateCompleted || len(s.deliveries()) != c.delivers {
				t.Errorf("got %+v, delivered %q", got, s.deliveries())
			}
			if c.status == StatusDeliveryFailed && !strings.Contains(got.LastDeliveryError, "offline") {
				t.Errorf("delivery error: %q", got.LastDeliveryError)
			}
		})
	}
}

func TestBlockedJobAsksNoModelT190(t *testing.T) {
	f := newFixture(t)
	s := &script{}
	c := scheduler(t, f.Store, s)
	job := f.create(t, NewJob{Schedule: "0 * * * *", Deliver: "telegram:1", FailureDeliver: "slack"})
	for range 3 {
		f.clock.SetTime(f.job(t, job.ID).NextRunAt.Time)
		tick(t, c)
	}
	if got := f.job(t, job.ID); got.LastStatus != StatusBlocked || s.runs() != 0 || len(s.deliveries()) != 1 {
		t.Errorf("T-190: status %s, %d runs, %d alerts", got.LastStatus, s.runs(), len(s.deliveries()))
	}
}

func TestRepeatedFailureIsToldOnceT199(t *testing.T) {
	f := newFixture(t)
	problem := "timeout after 5 s"
	s := &script{run: func(context.Context, Run) Outcome { return Outcome{Err: errors.New(problem)} }}
	c := scheduler(t, f.Store, s)
	job := f.create(t, NewJob{Schedule: "*/20 * * * *", Deliver: "slack"})
	turn := func() int {
		f.clock.SetTime(f.job(t, job.ID).NextRunAt.Time)
		tick(t, c)
		return len(s.deliveries())
	}
	turn()
	turn()
	if n := turn(); n != 1 {
		t.Errorf("T-199: one error told %d times in an hour", n)
	}
	problem = "permission denied"
	if n := turn(); n != 2 {
		t.Errorf("T-199: a different error is not told")
	}
	if n, err := f.Acknowledge(t.Context(), job.ID); err != nil || n != 2 {
		t.Errorf("acknowledged %d, %v", n, err)
	}
	f.clock.Step(24 * time.Hour)
	if n := turn(); n != 2 {
		t.Errorf("C-231: an acknowledged error is told")
	}
	s.run = nil
	turn()
	if left, err := f.Incidents(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("C-231: success leaves %+v, %v", left, err)
	}
	s.run = func(context.Context, Run) Outcome { return Outcome{Err: errors.New(problem)} }
	if n := turn(); n != 4 { // the success and the error that re-opens
		t.Errorf("C-231: the same error later is not told again: %q", s.deliveries())
	}
}

// TestParallelBoundT154 has a thousand jobs due at once in one profile that allows three, beside one that allows all.
func TestParallelBoundT154(t *testing.T) {
	t.Parallel()
	bounded, free := newFixture(t), newFixture(t)
	bounded.settings.MaxParallelJobs, free.settings.MaxParallelJobs = 3, 0
	var mu sync.Mutex
	now, most, ran := 0, 0, 0
	a := &script{run: func(context.Context, Run) Outcome {
		mu.Lock()
		now++
		most, ran = max(most, now), ran+1
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		return Outcome{Text: "SILENT"}
	}}
	const many = 1000
	var jobs []Job
	for i := range many {
		job, err := build(NewJob{Prompt: fmt.Sprint(i), Schedule: "in 1m"}, testStart, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	bounded.put(t, jobs...)
	together := make(chan struct{})
	arrived := sync.WaitGroup{}
	arrived.Add(10)
	b := &script{run: func(ctx context.Context, _ Run) Outcome {
		arrived.Done()
		select {
		case <-together:
		case <-ctx.Done():
		}
		return Outcome{Text: "SILENT"}
	}}
	free.put(t, jobs[:10]...)
	bounded.clock.Step(time.Minute)
	free.clock.Step(time.Minute)
	ca := scheduler(t, bounded.Store, a, func(o *SchedulerOptions) { o.Log = logr.Discard() })
	cb := scheduler(t, free.Store, b)
	if n, err := cb.Tick(t.Context()); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	arrived.Wait() // all ten run at once
	close(together)
	began := time.Now()
	if n := tick(t, ca); n != many {
		t.Errorf("handed out %d", n)
	}
	t.Logf("%d jobs in %s", many, time.Since(began))
	if most > 3 || ran != many {
		t.Errorf("%d at once, %d ran", most, ran)
	}
	cb.workers.Wait()
}

// TestSameIdInTwoProfilesT151 runs a job in one profile while another has a job of the same id.
func TestSameIdInTwoProfilesT151(t *testing.T) {
	a, b := newFixture(t), newFixture(t)
	release := make(chan struct{})
	begun := make(chan struct{})
	sa := &script{run: func(context.Context, Run) Outcome { close(begun); <-release; return Outcome{Text: "x"} }}
	sb := &script{}
	ca, cb := scheduler(t, a.Store, sa), scheduler(t, b.Store, sb)
	job := with(daily("2026-11-29T12:00:00Z"), func(j *Job) { j.ID, j.Schedule.Expr = "daily-brief", "0 12 * * *" })
	a.put(t, job)
	b.put(t, job)
	if _, err := ca.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-begun
	if cb.IsRunning("daily-brief") || !ca.IsRunning("daily-brief") {
		t.Error("T-152")
	}
	if n := tick(t, cb); n != 1 || sb.runs() != 1 {
		t.Error("T-151: the other profile's job is held up")
	}
	if cb.IsRunning("daily-brief") {
		t.Error("T-153: the key is still there")
	}
	close(release)
	ca.workers.Wait()
	if ca.IsRunning("daily-brief") {
		t.Error("T-153: the key is still there")
	}
}

// TestCatchUpIsBoundedAndSpread starts after an outage with 200 overdue jobs.
func TestCatchUpIsBoundedAndSpread(t *testing.T) {
	f := newFixture(t)
	var jobs []Job
	for i := range 200 {
		jobs = append(jobs, with(daily("2026-11-28T09:00:00Z"), func(j *Job) { j.ID = fmt.Sprintf("job%03d", i) }))
	}
	f.put(t, jobs...)
	s := &script{run: func(context.Context, Run) Outcome { return Outcome{Text: "SILENT"} }}
	c := scheduler(t, f.Store, s)
	ticks := 0
	for before := -1; s.runs() < 200 && s.runs() > before; ticks++ {
		before = s.runs()
		if n := tick(t, c); n > DefaultCatchUpBurst {
			t.Fatalf("%d missed occurrences in one tick", n)
		}
		f.clock.Step(time.Minute)
	}
	if s.runs() != 200 || ticks != 20 {
		t.Errorf("%d runs in %d ticks", s.runs(), ticks)
	}
	all, _ := f.Jobs()
	for _, j := range all {
		if d := j.LastDispatch; d == nil || d.Kind != CatchUp || d.Reason == "" || !j.NextRunAt.After(f.clock.Now()) {
			t.Fatalf("not recorded with its reason: %+v", d)
		}
	}
	rows, err := f.Executions(t.Context(), "", 500)
	if err != nil || len(rows) != 200 || rows[0].Lateness != CatchUp || rows[0].Late < 24*time.Hour {
		t.Errorf("ledger: %d rows, %v", len(rows), err)
	}
	if m := f.Markers(); m.CatchUps != 200 {
		t.Errorf("T-116: the counter says %d", m.CatchUps)
	}
	for i := range 10 {
		if d := spread(i, 10, 30*time.Second); d < time.Duration(i)*3*time.Second || d >= time.Duration(i+1)*3*time.Second {
			t.Errorf("run %d of 10 begins after %s", i, d)
		}
	}
}

func TestSkippedRunsAreRecordedT116(t *testing.T) {
	f := newFixture(t)
	f.settings.CatchUpMissed = false
	f.put(t, with(daily("2026-11-26T09:00:00Z"), func(j *Job) { j.ID = "skip" }), with(oneShot("2026-11-29T11:00:00Z"), func(j *Job) { j.ID = "once" }))
	s := &script{}
	if n := tick(t, scheduler(t, f.Store, s)); n != 0 || s.runs() != 0 {
		t.Errorf("%d handed out", n)
	}
	for id, says := range map[string]string{"skip": "catchUpMissed is off", "once": "120 s late"} {
		rows, err := f.Executions(t.Context(), id, 5)
		if err != nil || len(rows) != 1 || rows[0].Status != ExecutionSkipped || !strings.Contains(rows[0].Error, says) {
			t.Errorf("%s: %+v, %v", id, rows, err)
		}
		if d := f.job(t, id).LastDispatch; d.Kind != Skipped || !strings.Contains(d.Reason, says) {
			t.Errorf("%s: %+v", id, d)
		}
	}
	if out, _ := f.Outputs("once"); len(out) != 1 {
		t.Error("C-133: no diagnostic for the one-shot")
	}
}

func TestStopGivesBackAndInterruptsC163(t *testing.T) {
	f := newFixture(t)
	f.settings.MaxParallelJobs = 1
	begun := make(chan string, 4)
	s := &script{run: func(ctx context.Context, r Run) Outcome {
		begun <- r.Job.ID
		<-ctx.Done()
		return Outcome{Text: "ok after all"} // must count for nothing
	}}
	c := scheduler(t, f.Store, s)
	f.put(t, with(daily("2026-11-29T12:00:00Z"), func(j *Job) { j.ID, j.Schedule.Expr = "a", "0 12 * * *" }),
		with(daily("2026-11-29T12:00:00Z"), func(j *Job) { j.ID, j.Schedule.Expr = "b", "0 12 * * *" }))
	if n, err := c.Tick(t.Context()); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	runs := <-begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(over); err != nil {
		t.Fatal(err)
	}
	if got := f.job(t, runs); got.LastStatus != StatusInterrupted || got.FireClaim != nil || len(s.deliveries()) != 0 {
		t.Errorf("C-163: %+v", got)
	}
	rows, _ := f.Executions(t.Context(), runs, 1)
	if len(rows) != 1 || rows[0].Status != ExecutionFailed || !strings.Contains(rows[0].Error, "interrupted") {
		t.Errorf("C-163: %+v", rows)
	}
	if n, err := c.Tick(t.Context()); n != 0 || err != nil {
		t.Errorf("a stopped scheduler hands out %d, %v", n, err)
	}
	// The one that had not begun keeps its slot and runs in the next life, the other does not.
	s2 := &script{}
	again := scheduler(t, f.other(t, testOwner(1000)), s2)
	if n := tick(t, again); n != 1 || s2.ran[0].Job.ID == runs {
		t.Errorf("T-148: %d runs in the next life: %+v", n, s2.ran)
	}
	if n := tick(t, again); n != 0 {
		t.Error("T-148: restored twice")
	}
}

func TestLostClaimCutsOffAndIsGivenFreeT166(t *testing.T) {
	f := newFixture(t)
	begun, cut, end := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &script{run: func(ctx context.Context, _ Run) Outcome {
		close(begun)
		<-ctx.Done()
		close(cut)
		<-end // a runner that does not return
		return Outcome{Text: "late"}
	}}
	c := scheduler(t, f.Store, s)
	job := f.create(t, NewJob{Schedule: "every 15m"})
	f.clock.SetTime(job.NextRunAt.Time)
	if _, err := c.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-begun
	f.put(t, with(f.job(t, job.ID), func(j *Job) { j.FireClaim = &ClaimStamp{At: At(f.clock.Now()), By: "h:77"} }))
	waitForWaiter(t, f)
	f.clock.Step(fireHeartbeat)
	<-cut
	f.put(t, with(f.job(t, job.ID), func(j *Job) { j.FireClaim = nil; j.NextRunAt = At(f.clock.Now().Add(24 * time.Hour)) }))
	f.clock.Step(28 * time.Minute)
	if _, err := c.Tick(t.Context()); err != nil || !c.IsRunning(job.ID) {
		t.Errorf("T-166: given free before 30 minutes (%v)", err)
	}
	f.clock.Step(time.Minute)
	if _, err := c.Tick(t.Context()); err != nil || c.IsRunning(job.ID) {
		t.Errorf("T-166: still in flight (%v)", err)
	}
	if got := f.job(t, job.ID); got.LastError == "" {
		t.Error("T-166: the job says nothing")
	}
	if _, err := os.Stat(f.inDir("forced_releases.jsonl")); err != nil {
		t.Error(err)
	}
	close(end)
	c.workers.Wait()
	if got := f.job(t, job.ID); got.LastStatus == StatusOK || len(s.deliveries()) != 0 {
		t.Errorf("T-150: the late end counts: %+v", got)
	}
}

func TestGlobalPauseC206(t *testing.T) {
	f := newFixture(t)
	gate := Gate{Paused: true}
	s := &script{}
	c := scheduler(t, f.Store, s, func(o *SchedulerOptions) { o.Gate = func() Gate { return gate } })
	due := f.create(t, NewJob{Schedule: "0 13 * * *", Name: "due"})
	asked := f.create(t, NewJob{Schedule: "0 23 * * *", Name: "asked"})
	f.clock.SetTime(due.NextRunAt.Time)
	if _, err := f.Trigger(t.Context(), asked.ID, "now please"); err != nil {
		t.Fatal(err)
	}
	if n := tick(t, c); n != 1 || s.ran[0].Prompt != "now please" || !s.ran[0].Manual || !s.ran[0].Occurrence.IsZero() {
		t.Errorf("C-206: %d, %+v", n, s.ran)
	}
	if got := f.job(t, asked.ID); !got.NextRunAt.Equal(asked.NextRunAt.Time) || !got.ManualRunAt.IsZero() {
		t.Errorf("T-145: next is %s, want %s", got.NextRunAt, asked.NextRunAt)
	}
	gate = Gate{Draining: true}
	if n := tick(t, c); n != 0 {
		t.Error("a draining gateway hands out")
	}
	gate = Gate{}
	if n := tick(t, c); n != 1 {
		t.Error("C-206: overdue work does not catch up")
	}
}
