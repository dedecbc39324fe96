package cron

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClaimLiveness(t *testing.T) {
	now := testStart
	for _, c := range []struct {
		id, by, adopted string
		age             time.Duration
		live            bool
	}{
		{"T-141 299 s", "h:77", "", 299 * time.Second, true},
		{"T-141 300 s", "h:77", "", 300 * time.Second, false},
		{"T-142 owner dead", "h:9001:0123456789abcdef0123456789abcdef", "", 5 * time.Second, false},
		{"C-151 dead pid of another host proves nothing", "other:9001", "", 5 * time.Second, true},
		{"C-151 machine id", "machine-1", "", 5 * time.Second, true},
		{"T-143 future", "h:77", "", -time.Second, false},
		{"C-151 adopted by a dead process", "h:77", "h:9001", 5 * time.Second, false},
		{"C-151 of a dead process, adopted by a living one", "h:9001", "h:77", 5 * time.Second, true},
		{"C-151 ours, but not held", "h:1000:0123456789abcdef0123456789abcdef", "", 5 * time.Second, false},
		{"C-151 malformed", "", "", 5 * time.Second, false},
	} {
		claim := &ClaimStamp{At: At(now.Add(-c.age)), By: c.by, AdoptedBy: c.adopted}
		if got := look(now).claimLive(claim, fireClaimTTL); got != c.live {
			t.Errorf("%s: live is %v", c.id, got)
		}
	}
}

func TestRunClaimTTLT144(t *testing.T) {
	for inactivity, want := range map[time.Duration]time.Duration{600: 1800, 0: 1800, 1000: 3000} {
		if got := (Settings{Inactivity: inactivity * time.Second}).runClaimTTL(); got != want*time.Second {
			t.Errorf("T-144 inactivity %d s: got %s", inactivity, got)
		}
	}
}

func TestOccurrenceC153(t *testing.T) {
	slot := mustInstant("2026-03-02T09:00:00+02:00")
	for _, c := range []struct {
		id   string
		now  time.Time
		q    FireRequest
		job  func(*Job)
		want bool
	}{
		{"on time", slot.Time, FireRequest{}, nil, true},
		{"59 s early", slot.Add(-59 * time.Second), FireRequest{}, nil, true},
		{"T-147 60 s early", slot.Add(-60 * time.Second), FireRequest{}, nil, false},
		{"force", slot.Time, FireRequest{Force: true}, nil, false},
		{"T-145 manual", slot.Time, FireRequest{Manual: true}, nil, false},
		{"manual marker at the slot", slot.Time, FireRequest{}, func(j *Job) { j.ManualRunAt = slot }, false},
		{"manual marker elsewhere", slot.Time, FireRequest{}, func(j *Job) { j.ManualRunAt = At(slot.Add(-time.Hour)) }, true},
		{"no zone", slot.Time, FireRequest{}, func(j *Job) { j.NextRunAt.Naive = true }, false},
	} {
		j := Job{NextRunAt: slot}
		if c.job != nil {
			c.job(&j)
		}
		got := occurrenceOf(j, c.now, c.q)
		if got.IsZero() == c.want || (c.want && (got.Location() != time.UTC || !got.Equal(slot.Time))) {
			t.Errorf("%s: got %v", c.id, got)
		}
	}
}

func TestTwoProcessesOneWinsT140(t *testing.T) {
	f := newFixture(t)
	job := f.create(t, NewJob{Schedule: "every 1h"})
	f.clock.SetTime(job.NextRunAt.Time)
	var wins atomic.Int32
	var wait sync.WaitGroup
	for i := range 4 {
		s := f.other(t, testOwner(10+i))
		s.options.LockPatience = 20 * time.Second
		wait.Go(func() {
			switch _, err := s.Claim(t.Context(), job.ID, FireRequest{}); {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, ErrClaimLost):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if wins.Load() != 1 {
		t.Errorf("%d processes won", wins.Load())
	}
	if got := f.job(t, job.ID); !got.NextRunAt.Equal(job.NextRunAt.Add(time.Hour)) {
		t.Errorf("C-152: next is %s", got.NextRunAt)
	}
}

func TestClaimRefusals(t *testing.T) {
	f := newFixture(t)
	base := f.create(t, NewJob{Schedule: "every 1h"})
	slot := base.NextRunAt
	f.clock.SetTime(slot.Time)
	for _, c := range []struct {
		id, says string
		job      func(*Job)
		q        FireRequest
	}{
		{"C-152 terminal", "completed", func(j *Job) { j.State, j.Enabled = StateCompleted, false }, FireRequest{Force: true}},
		{"C-152 paused", "paused", func(j *Job) { j.State, j.Enabled = StatePaused, false }, FireRequest{}},
		{"C-152 live claim", "another run", func(j *Job) { j.FireClaim = &ClaimStamp{At: slot, By: "h:77"} }, FireRequest{Force: true}},
		{"C-155 not handed out", "taken over", nil, FireRequest{Slot: slot}},
		{"C-155 handed out by another", "taken over", func(j *Job) { j.PendingSlot = &PendingSlot{slot, slot, "h:77"} }, FireRequest{Slot: slot}},
		{"C-155 another slot", "taken over", func(j *Job) { j.PendingSlot = &PendingSlot{At(slot.Add(time.Hour)), slot, "h:1000"} }, FireRequest{Slot: slot}},
	} {
		job := base.Clone()
		if c.job != nil {
			c.job(&job)
		}
		f.put(t, job)
		if _, err := f.Claim(t.Context(), job.ID, c.q); !errors.Is(err, ErrClaimLost) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.id, err, c.says)
		}
	}
	f.put(t, with(base, func(j *Job) { j.State, j.Enabled = StatePaused, false }))
	if c, err := f.Claim(t.Context(), base.ID, FireRequest{Force: true}); err != nil || c.Job.Paused() || !c.Job.Enabled || !c.Occurrence.IsZero() {
		t.Errorf("C-152 force: %+v, %v", c, err)
	}
}

func TestCompletedOccurrenceIsNotRunAgainC154(t *testing.T) {
	f := newFixture(t)
	job := f.create(t, NewJob{Schedule: "0 13 * * *"})
	f.clock.SetTime(job.NextRunAt.Time)
	exec, err := f.ledger.begin(t.Context(), firing{id: job.ID, slot: job.NextRunAt}, sourceTick)
	if err != nil {
		t.Fatal(err)
	}
	if f.ledger.done(t.Context(), job.ID, job.NextRunAt.Time) {
		t.Error("a claimed row counts as done")
	}
	if err := f.ledger.finish(t.Context(), exec, ExecutionClaimed, ExecutionCompleted, "", ""); err != nil {
		t.Fatal(err)
	}
	_, err = f.Claim(t.Context(), job.ID, FireRequest{})
	if !errors.Is(err, ErrClaimLost) || !strings.Contains(err.Error(), "run already") {
		t.Errorf("got %v", err)
	}
	if got := f.job(t, job.ID); !got.NextRunAt.Equal(job.NextRunAt.AddDate(0, 0, 1)) {
		t.Errorf("not re-anchored: %s", got.NextRunAt)
	}
	if f.ledger.done(t.Context(), job.ID, job.NextRunAt.Add(61*time.Second)) {
		t.Error("a row that finished more than a minute before the occurrence counts")
	}
}

func TestHeartbeatAndStaleCompletionT150(t *testing.T) {
	f := newFixture(t)
	job := f.create(t, NewJob{Schedule: "every 1h"})
	f.clock.SetTime(job.NextRunAt.Time)
	first, err := f.Claim(t.Context(), job.ID, FireRequest{})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Step(200 * time.Second)
	release, err := f.fence(t.Context(), job.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Refresh(t.Context(), first); err != nil {
		t.Errorf("C-157: the heartbeat needs the fence: %v", err)
	}
	if _, err := f.Claim(t.Context(), job.ID, FireRequest{}); !errors.Is(err, errContended) {
		t.Errorf("C-158: a fire without the fence: %v", err)
	}
	release()
	f.clock.Step(200 * time.Second)
	other := f.other(t, testOwner(1001))
	if _, err := other.Claim(t.Context(), job.ID, FireRequest{}); !errors.Is(err, ErrClaimLost) {
		t.Errorf("a refreshed claim is taken: %v", err)
	}
	f.clock.Step(101 * time.Second)
	second, err := other.Claim(t.Context(), job.ID, FireRequest{})
	if err != nil {
		t.Fatal(err)
	}
	mark := func(text string) func(Job, time.Time) Job {
		return func(j Job, _ time.Time) Job { j.LastStatus = text; return j }
	}
	if err := f.Refresh(t.Context(), first); !errors.Is(err, ErrClaimLost) {
		t.Errorf("a lost claim is refreshed: %v", err)
	}
	if err := f.Finish(t.Context(), first, mark("stale")); !errors.Is(err, ErrClaimLost) {
		t.Errorf("T-150: %v", err)
	}
	if err := other.Finish(t.Context(), second, mark("ok")); err != nil {
		t.Fatal(err)
	}
	if got := f.job(t, job.ID); got.LastStatus != "ok" || got.FireClaim != nil {
		t.Errorf("T-150: got %+v", got)
	}
}
