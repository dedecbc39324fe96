package process

import (
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/test/wallclock"
)

var steps = map[string]time.Duration{"a day ahead": 24 * time.Hour, "a day back": -24 * time.Hour}

// G4: a clock that is set while a gateway waits for its next start neither hurries nor delays it.
func TestClockStepDuringBackoff_G4(t *testing.T) {
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			clk := &wallclock.Clock{}
			w.opts.Clock = clk
			e := w.engine()
			load := w.workload(modeCrashEarly)
			w.awaitObservation(e, load, "the second pause", func(o obs) bool { return !o.NextAttempt.IsZero() && w.notes("started") == 2 })
			began := time.Now()
			clk.Step(step)
			load.AutoUpdate = false // wakes the supervisor, which reckons again, and changes nothing else
			w.ensure(e, load)
			if w.notes("started") != 2 {
				t.Error("the step hurried the next start")
			}
			await(t, "the next start", func() bool { return w.notes("started") >= 3 }, nil)
			if waited := time.Since(began); waited > backoffCap/10 {
				t.Errorf("waited %s", waited)
			}
			w.stop(e)
		})
	}
}

// G6, G8: liveness and the stop budget are reckoned in time that passes.
func TestClockStepDuringWorkAndDrain_G8(t *testing.T) {
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			clk := &wallclock.Clock{}
			w.opts.Clock = clk
			e := w.engine()
			load := w.workload(modeWork)
			load.DrainTimeout = time.Hour
			w.touch("work")
			o := w.awaitRunning(e, load)
			clk.Step(step)
			asked := w.notes("drained")
			if again := w.awaitRunning(e, load); again.Instance.ID != o.Instance.ID || again.Restarts != 0 {
				t.Errorf("restarted: %+v", again)
			}
			last := o
			await(t, "the drain", func() bool {
				last, _, _ = e.Stop(t.Context(), w.ref)
				return last.Reason == v1alpha1.ReasonDraining && w.notes("drained") > asked
			}, nil)
			clk.Step(-2 * step)
			more := w.notes("drained")
			await(t, "the drain to go on", func() bool { return w.notes("drained") >= more+2 }, nil)
			if w.notes("terminated") != 0 {
				t.Error("the step ended the drain")
			}
			w.remove("work")
			w.stop(e)
		})
	}
}

// G4: an engine that starts after the clock was set back does not wait for yesterday's plan, and one adopted run's
// readiness is not made longer or shorter by the step.
func TestClockStepBetweenEngines_G4(t *testing.T) {
	w := newWorld(t)
	clk := &wallclock.Clock{}
	w.opts.Clock = clk
	clk.Step(24 * time.Hour)
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	load := w.workload(modeCrashEarly)
	w.awaitObservation(first, load, "a pause", func(o obs) bool { return !o.NextAttempt.IsZero() })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	clk.Step(-24 * time.Hour)
	e := w.engine()
	o := w.awaitObservation(e, load, "the plan", func(o obs) bool { return !o.NextAttempt.IsZero() || w.notes("started") > 1 })
	if pause := o.NextAttempt.Round(0).Sub(clk.Now().Round(0)); pause > backoffCap {
		t.Errorf("the next start is %s away", pause)
	}
	w.stop(e)
}

func TestTrustedTimes(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for want, planned := range map[time.Duration]time.Time{
		backoffCap: now.Add(day), time.Second: now.Add(time.Second), -day: now.Add(-day), backoffCap - 1: now.Add(backoffCap - 1),
	} {
		if got := trustedAttempt(planned, now).Sub(now); got != want {
			t.Errorf("planned for %s: %s, want %s", planned, got, want)
		}
	}
	if !trustedAttempt(time.Time{}, now).IsZero() || !trustedReady(time.Time{}, now, 100).IsZero() {
		t.Error("nothing planned or ready becomes something")
	}
	for name, c := range map[string]struct {
		ready    time.Duration // before now, by the clock as it is
		ageTicks int64
		want     time.Duration
	}{
		"no step":       {4 * time.Minute, 5 * 60 * userHZ, 4 * time.Minute},
		"a day ahead":   {day + 4*time.Minute, 5 * 60 * userHZ, 5 * time.Minute},
		"a day back":    {-day, 5 * 60 * userHZ, 0},
		"age not known": {time.Minute, -1, 0},
	} {
		if got := now.Sub(trustedReady(now.Add(-c.ready), now, c.ageTicks)); got != c.want {
			t.Errorf("%s: ready for %s, want %s", name, got, c.want)
		}
	}
}

// G4: a run adopted after a step forgets earlier failures neither too early nor never.
func TestClockStepAndAdoptedReadiness_G4(t *testing.T) {
	w := newWorld(t)
	clk := &wallclock.Clock{}
	w.opts.Clock = clk
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	load := w.workload()
	o := w.awaitRunning(first, load)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	clk.Step(24 * time.Hour)
	in := w.readIntent()
	in.Seen.Failures = 3
	if err := (intentStore{dir: w.opts.Dir}).save(w.ref, in); err != nil {
		t.Fatal(err)
	}
	e := w.engine()
	w.awaitRunning(e, load)
	if err := syscall.Kill(int(o.Instance.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the failure to be counted", func() bool { return w.readIntent().Seen.Failures == 4 }, nil)
	w.stop(e)
}
