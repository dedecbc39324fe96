package cron

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// look returns a view of a process that has nothing in flight.
func look(now time.Time) view {
	return view{now: now, settings: DefaultSettings(), owner: testOwner(1000),
		running: func(string) bool { return false }, holds: func(string) bool { return false }}
}

func daily(next string) Job {
	j := Job{ID: "j1", Enabled: true, State: StateScheduled, Schedule: Schedule{Kind: Cron, Expr: "0 9 * * *"}}
	if next != "" {
		j.NextRunAt = mustInstant(next)
	}
	return j
}

func oneShot(at string) Job {
	return Job{ID: "o1", Enabled: true, State: StateScheduled, NextRunAt: mustInstant(at), Schedule: Schedule{Kind: Once, RunAt: mustInstant(at)}}
}

func mustInstant(text string) Instant {
	i, err := ParseInstant(text)
	if err != nil {
		panic(err)
	}
	return i
}

func with(j Job, change func(*Job)) Job {
	change(&j)
	return j
}

func TestEvaluate(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	claim := func(at, by string) *ClaimStamp { return &ClaimStamp{At: mustInstant(at), By: by} }
	const hex = ":0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		id, now string
		job     Job
		view    func(*view)
		fires   string // class of what fires, or nothing
		next    string // next_run_at afterwards, "" for none
		check   func(*testing.T, verdict)
	}{
		{id: "not due", now: "2026-03-02T08:59:59Z", job: daily("2026-03-02T09:00:00Z"), next: "2026-03-02T09:00:00Z"},
		{id: "C-155 due: advanced before it is dispatched", now: "2026-03-02T09:00:10Z", job: daily("2026-03-02T09:00:00Z"), fires: "on_time", next: "2026-03-03T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if p := r.job.PendingSlot; p == nil || !p.ScheduledAt.Equal(mustInstant("2026-03-02T09:00:00Z").Time) || p.By != "h:1000" {
					t.Errorf("pending slot: %+v", p)
				}
			}},
		{id: "T-114 late", now: "2026-03-02T09:06:40Z", job: daily("2026-03-02T09:00:00Z"), fires: "late", next: "2026-03-03T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if d := r.job.LastDispatch; d.Reason == "" || d.LatenessSeconds != 400 || d.Kind != Late {
					t.Errorf("a late run is not recorded with its reason: %+v", d)
				}
			}},
		{id: "T-116 down for 3 days, caught up once", now: "2026-03-05T12:00:00Z", job: daily("2026-03-02T09:00:00Z"), fires: "catch_up", next: "2026-03-06T09:00:00Z"},
		{id: "T-116 down for 3 days, catch-up off", now: "2026-03-05T12:00:00Z", job: daily("2026-03-02T09:00:00Z"), view: func(v *view) { v.settings.CatchUpMissed = false }, next: "2026-03-06T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.skipped == nil || r.skipped.Reason == "" || r.job.LastDispatch.Kind != Skipped {
					t.Errorf("the skip is not recorded: %+v", r)
				}
			}},
		{id: "C-132 within grace although catch-up is off", now: "2026-03-02T10:59:00Z", job: daily("2026-03-02T09:00:00Z"), view: func(v *view) { v.settings.CatchUpMissed = false }, fires: "late", next: "2026-03-03T09:00:00Z"},
		{id: "C-111 enabled with a pause marker", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-02T09:00:00Z"), func(j *Job) { j.PausedAt = mustInstant("2026-03-01T00:00:00Z") }), next: "2026-03-02T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.job.Enabled || r.job.State != StatePaused || !r.changed {
					t.Errorf("got %+v", r)
				}
			}},
		{id: "C-173 in flight here", now: "2026-03-02T09:00:10Z", job: daily("2026-03-02T09:00:00Z"), view: func(v *view) { v.running = func(string) bool { return true } }, next: "2026-03-02T09:00:00Z"},
		{id: "C-150 fire claim of a living process", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-02T09:00:00Z"), func(j *Job) { j.FireClaim = claim("2026-03-02T09:00:00Z", "h:77"+hex) }), next: "2026-03-02T09:00:00Z"},
		{id: "C-151 fire claim of a dead process", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-02T09:00:00Z"), func(j *Job) { j.FireClaim = claim("2026-03-02T09:00:00Z", "h:9001"+hex) }), fires: "on_time", next: "2026-03-03T09:00:00Z"},
		{id: "T-148 pending slot of a dead process", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-03T09:00:00Z"), func(j *Job) {
			j.PendingSlot = &PendingSlot{mustInstant("2026-03-02T09:00:00Z"), mustInstant("2026-03-02T09:00:05Z"), "h:9001"}
		}), fires: "on_time", next: "2026-03-03T09:00:00Z"},
		{id: "C-155 pending slot of a living process", now: "2026-03-02T09:05:04Z", job: with(daily("2026-03-03T09:00:00Z"), func(j *Job) {
			j.PendingSlot = &PendingSlot{mustInstant("2026-03-02T09:00:00Z"), mustInstant("2026-03-02T09:00:05Z"), "h:77"}
		}), next: "2026-03-03T09:00:00Z"},
		{id: "C-155 pending slot that outlived its stamp", now: "2026-03-02T09:05:05Z", job: with(daily("2026-03-03T09:00:00Z"), func(j *Job) {
			j.PendingSlot = &PendingSlot{mustInstant("2026-03-02T09:00:00Z"), mustInstant("2026-03-02T09:00:05Z"), "h:77"}
		}), fires: "late", next: "2026-03-03T09:00:00Z"},
		{id: "T-121 zone migration, due", now: "2026-03-02T09:00:10Z", job: daily("2026-03-02T09:00:00+00:00"), view: func(v *view) { v.settings.Zone = berlin }, fires: "on_time", next: "2026-03-03T08:00:00Z"},
		{id: "C-135 zone migration, wall clock ahead", now: "2026-03-02T07:00:00Z", job: daily("2026-03-02T09:00:00+00:00"), view: func(v *view) { v.settings.Zone = berlin }, next: "2026-03-02T08:00:00Z"},
		{id: "C-135 edited by hand", now: "2026-03-02T07:00:00Z", job: daily("2026-03-02T06:59:00Z"), next: "2026-03-02T09:00:00Z"},
		{id: "C-135 the stand-in for a wall clock that is left out is legal", now: "2026-03-29T01:30:05Z", job: with(daily("2026-03-29T03:30:00+02:00"), func(j *Job) { j.Schedule.Expr = "30 2 * * *" }),
			view: func(v *view) { v.settings.Zone = berlin }, fires: "on_time", next: "2026-03-30T00:30:00Z"},
		{id: "C-136 failed and left behind", now: "2026-03-02T12:00:00Z", job: with(daily("2027-03-02T09:00:00Z"), func(j *Job) {
			j.LastStatus, j.LastRunAt = StatusError, mustInstant("2026-03-01T09:00:00Z")
		}), next: "2026-03-03T09:00:00Z"},
		{id: "C-136 interval re-armed at once", now: "2026-03-02T12:00:00Z", job: with(daily("2027-03-02T09:00:00Z"), func(j *Job) {
			j.Schedule = Schedule{Kind: Interval, Minutes: 60}
			j.LastStatus, j.LastRunAt = StatusError, mustInstant("2026-03-01T09:00:00Z")
		}), fires: "on_time", next: "2026-03-02T13:00:00Z"},
		{id: "C-137 recurring without a slot", now: "2026-03-02T09:00:10Z", job: daily(""), next: "2026-03-03T09:00:00Z"},
		{id: "C-137 one-shot without a slot", now: "2026-03-02T09:01:59Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) { j.NextRunAt = Instant{} }), fires: "on_time", next: "2026-03-02T09:00:00Z"},
		{id: "C-137 wall clock without a zone", now: "2026-03-02T08:00:05Z", job: daily("2026-03-02T09:00:00"), view: func(v *view) { v.settings.Zone = berlin }, fires: "on_time", next: "2026-03-03T08:00:00Z"},
		{id: "C-137 unreadable schedule", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-02T09:00:00Z"), func(j *Job) { j.Schedule.Expr = "x" }), next: "2026-03-02T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.job.State != StateError || r.job.LastError == "" || !r.changed {
					t.Errorf("got %+v", r)
				}
			}},
		{id: "C-133 one-shot in time", now: "2026-03-02T09:02:00Z", job: oneShot("2026-03-02T09:00:00Z"), fires: "on_time", next: "2026-03-02T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.job.RunClaim == nil || r.job.RunClaim.By != "h:1000" {
					t.Error("no run claim is stamped")
				}
			}},
		{id: "C-133 one-shot too late", now: "2026-03-02T09:02:01Z", job: oneShot("2026-03-02T09:00:00Z"),
			check: func(t *testing.T, r verdict) {
				if r.diagnostic == "" || r.remove || r.skipped == nil || r.job.LastStatus != StatusMissed {
					t.Errorf("not retired: %+v", r)
				}
			}},
		{id: "T-118 late one-shot that a living process claimed", now: "2026-03-02T09:10:00Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) { j.RunClaim = claim("2026-03-02T09:00:00Z", "h:77") }), next: "2026-03-02T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.changed || r.remove {
					t.Errorf("the record is touched: %+v", r)
				}
			}},
		{id: "T-118 late one-shot whose claimer died", now: "2026-03-02T09:10:00Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) { j.RunClaim = claim("2026-03-02T09:00:00Z", "h:9001") }),
			check: func(t *testing.T, r verdict) {
				if r.remove || r.diagnostic != "" || r.skipped == nil {
					t.Errorf("the record is not kept: %+v", r)
				}
			}},
		{id: "C-156 wedged one-shot", now: "2026-03-02T09:00:50Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) {
			j.Repeat.Completed, j.RunClaim, j.FireClaim = 1, claim("2026-03-02T09:00:00Z", "h:9001"), claim("2026-03-02T09:00:00Z", "h:9001"+hex)
		}), next: "2026-03-02T09:00:00Z", check: func(t *testing.T, r verdict) {
			if !r.remove || r.diagnostic == "" {
				t.Errorf("got %+v", r)
			}
		}},
		{id: "C-112 finished one-shot within retention", now: "2026-03-08T23:00:00Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) {
			j.State, j.Enabled, j.LastRunAt = StateCompleted, false, mustInstant("2026-03-02T09:00:00Z")
		}), next: "2026-03-02T09:00:00Z"},
		{id: "C-112 finished one-shot after retention", now: "2026-03-09T09:00:00Z", job: with(oneShot("2026-03-02T09:00:00Z"), func(j *Job) {
			j.State, j.Enabled, j.LastRunAt = StateCompleted, false, mustInstant("2026-03-02T09:00:00Z")
		}), next: "2026-03-02T09:00:00Z", check: func(t *testing.T, r verdict) {
			if !r.remove {
				t.Error("not pruned")
			}
		}},
		{id: "T-124 parked by a quota", now: "2026-03-02T09:00:10Z", job: with(daily("2026-03-02T09:00:00Z"), func(j *Job) { j.QuotaHoldUntil = mustInstant("2026-03-02T10:00:00Z") }), next: "2026-03-02T09:00:00Z"},
		{id: "T-145 manual run leaves no occurrence behind", now: "2026-03-02T19:53:01Z", job: with(daily("2026-03-02T19:53:00Z"), func(j *Job) { j.ManualRunAt = j.NextRunAt }), fires: "manual", next: "2026-03-03T09:00:00Z",
			check: func(t *testing.T, r verdict) {
				if r.job.LastDispatch != nil {
					t.Error("a manual run is recorded as an occurrence")
				}
			}},
	} {
		t.Run(c.id, func(t *testing.T) {
			v := look(utc(t, c.now))
			if c.view != nil {
				c.view(&v)
			}
			r := evaluate(c.job, v)
			fires := ""
			if r.fire != nil {
				fires = string(r.fire.kind)
			}
			if fires != c.fires {
				t.Errorf("fires %q, want %q", fires, c.fires)
			}
			next := ""
			if !r.job.NextRunAt.IsZero() {
				next = r.job.NextRunAt.UTC().Format(time.RFC3339)
			}
			if next != c.next {
				t.Errorf("next is %q, want %q", next, c.next)
			}
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

// TestWakeIsNeverTooLate holds the index to its promise: a job that the full scan would touch has been woken by then.
func TestWakeIsNeverTooLate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	zones := []*time.Location{time.UTC, zone(t, "America/New_York"), zone(t, "Australia/Lord_Howe")}
	start := utc(t, "2026-10-31T12:00:00Z")
	touched := 0
	for range 20000 {
		j := randomJob(r, start)
		v := look(start.Add(time.Duration(r.Int64N(72*3600)) * time.Second))
		v.settings.Zone = zones[r.IntN(len(zones))]
		verdict := evaluate(j.Clone(), v)
		if !verdict.changed && !verdict.remove && verdict.fire == nil {
			if !reflect.DeepEqual(verdict.job, j) {
				t.Fatalf("a change is not reported: %+v became %+v", j, verdict.job)
			}
			continue
		}
		touched++
		if wake := wakeAt(j, wakeSettings{v.settings.Zone, v.settings.CompletedRetentionDays}); wake.After(v.now) {
			t.Fatalf("at %s the scan touches %+v, which wakes at %s", v.now, j, wake)
		}
	}
	if touched < 2000 {
		t.Errorf("only %d of the jobs were touched", touched)
	}
}

func randomJob(r *rand.Rand, start time.Time) Job {
	some := func() Instant {
		if r.IntN(4) == 0 {
			return Instant{}
		}
		return At(start.Add(time.Duration(r.Int64N(96*3600)-24*3600) * time.Second).Truncate(time.Minute))
	}
	j := Job{ID: "r", Enabled: r.IntN(6) > 0, State: StateScheduled, NextRunAt: some()}
	j.NextRunAt.Naive = r.IntN(8) == 0 && !j.NextRunAt.IsZero()
	switch r.IntN(3) {
	case 0:
		j.Schedule = Schedule{Kind: Once, RunAt: At(start.Add(time.Hour))}
	case 1:
		j.Schedule = Schedule{Kind: Interval, Minutes: 1 + r.IntN(600)}
	default:
		j.Schedule = Schedule{Kind: Cron, Expr: randomExpression(r)}
	}
	if r.IntN(6) == 0 {
		j.State = []State{StatePaused, StateCompleted, StateError}[r.IntN(3)]
	}
	if r.IntN(3) == 0 {
		j.LastRunAt, j.LastStatus = some(), []string{StatusOK, StatusError}[r.IntN(2)]
	}
	if r.IntN(6) == 0 {
		j.PendingSlot = &PendingSlot{ScheduledAt: some(), At: some(), By: []string{"h:1000", "h:77", "h:9001"}[r.IntN(3)]}
	}
	if r.IntN(6) == 0 {
		j.RunClaim = &ClaimStamp{At: some(), By: []string{"h:1000", "h:77", "h:9001"}[r.IntN(3)]}
	}
	if r.IntN(8) == 0 {
		j.QuotaHoldUntil = some()
	}
	return j
}
