package process

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// fakeTime gives the world a clock that only the test moves.
func (w *world) fakeTime() *clocktesting.FakeClock {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	w.opts.Clock = clk
	// The home must exist for its changes to be watched: no clock drives the start then.
	w.touch("exists")
	return clk
}

// G4: the pause doubles, is visible, and the gateway is started when it is over and not before.
func TestBackoffIsVisibleAndEndless_G4(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	e := w.engine()
	load := w.workload(modeCrashEarly)
	want := time.Second
	for attempt := 1; attempt <= 12; attempt++ {
		o := w.awaitObservation(e, load, "the next attempt", func(o obs) bool { return o.NextAttempt.After(clk.Now()) && w.notes("started") == attempt })
		if got := o.NextAttempt.Sub(clk.Now()); got != want {
			t.Fatalf("pause after failure %d is %s, want %s", attempt, got, want)
		}
		if o.Reason != v1alpha1.ReasonCrashLoop || o.Stalled || o.Restarts != int32(attempt-1) {
			t.Fatalf("after failure %d: %+v", attempt, o)
		}
		if !strings.Contains(o.Message, "exit code 3") || !strings.Contains(o.Message, "cannot find the frobnicator") {
			t.Fatalf("message does not tell the cause: %s", o.Message)
		}
		awaitWaiter(t, clk)
		clk.Step(want - time.Millisecond)
		if got := w.notes("started"); got != attempt {
			t.Fatalf("started %d times before the pause was over", got)
		}
		clk.Step(time.Millisecond)
		want = min(2*want, 5*time.Minute)
	}
	w.stop(e)
}

// awaitWaiter waits until something waits for the clock.
func awaitWaiter(t *testing.T, clk *clocktesting.FakeClock) {
	t.Helper()
	await(t, "a timer", clk.HasWaiters, nil)
}

// G4: ten healthy minutes forget earlier failures.
func TestBackoffResets_G4(t *testing.T) {
	for name, c := range map[string]struct{ ready, want time.Duration }{
		"before": {10*time.Minute - time.Second, 2 * time.Second},
		"after":  {10 * time.Minute, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opts.PingInterval = time.Hour
			clk := w.fakeTime()
			e := w.engine()
			load := w.workload()
			o := w.awaitRunning(e, load)
			crash := func() obs {
				if err := syscall.Kill(int(o.Instance.PID), syscall.SIGUSR1); err != nil {
					t.Fatal(err)
				}
				return w.awaitObservation(e, load, "the next attempt", func(o obs) bool { return o.NextAttempt.After(clk.Now()) })
			}
			crash()
			awaitWaiter(t, clk)
			clk.Step(time.Second)
			o = w.awaitRunning(e, load)
			clk.Step(c.ready)
			if got := crash().NextAttempt.Sub(clk.Now()); got != c.want {
				t.Errorf("pause = %s, want %s", got, c.want)
			}
			w.stop(e)
		})
	}
}

// G5: a refusal waits for a change, says whose reason it is, and is over with the change.
func TestRefusalWaitsForChange_G5(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	e := w.engine()
	load := w.workload(modeRefuse)
	o := w.awaitObservation(e, load, "the refusal", func(o obs) bool { return o.Stalled })
	if o.Reason != v1alpha1.ReasonHomeNotOurs || !strings.Contains(o.Message, "holds somebody's home") || !o.NextAttempt.IsZero() {
		t.Errorf("observation: %+v", o)
	}
	clk.Step(24 * time.Hour)
	if o := w.ensure(e, load); !o.Stalled || w.notes("started") != 1 {
		t.Errorf("tried again without a change: %+v", o)
	}
	w.touch("welcome")
	load.AdoptExistingHome = true
	w.awaitRunning(e, load)
	w.stop(e)
}

// G5: a refusal outlives the supervisor, and a restart by a person asks again.
func TestRefusalIsRemembered_G5(t *testing.T) {
	w := newWorld(t)
	load := w.workload(modeRefuseMute)
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	w.awaitReason(first, load, v1alpha1.ReasonConfigurationRefused)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	e := w.engine()
	o := w.awaitReason(e, load, v1alpha1.ReasonConfigurationRefused)
	if !o.Stalled || !strings.Contains(o.Message, "no such model") || w.notes("started") != 1 {
		t.Fatalf("after %d starts: %+v", w.notes("started"), o)
	}
	load.RestartToken = "again"
	await(t, "another start", func() bool { w.ensure(e, load); return w.notes("started") == 2 }, nil)
	w.stop(e)
}

// G5: a gateway that the kernel killed for memory says so; one that somebody killed does not.
func TestKilledForMemory_G5(t *testing.T) {
	for reason, grows := range map[string]int64{v1alpha1.ReasonOutOfMemory: 1, v1alpha1.ReasonCrashLoop: 0} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t)
			w.opts.PingInterval = time.Hour
			var kills atomic.Int64
			w.opts.oomKills = kills.Load
			e := w.engine()
			o := w.awaitRunning(e, w.workload())
			kills.Add(grows)
			if err := syscall.Kill(int(o.Instance.PID), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			w.awaitReason(e, w.workload(), reason)
			w.stop(e)
		})
	}
}

// G5: the cause of a crash is quoted, not the end of its stack.
func TestCrashIsQuoted_G5(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	o := w.awaitObservation(e, w.workload(modeCrash), "the crash", func(o obs) bool { return !o.NextAttempt.IsZero() })
	if o.Reason != v1alpha1.ReasonCrashLoop || !strings.Contains(o.Message, "panic: the moon is full") || strings.Contains(o.Message, "goroutine") {
		t.Errorf("observation: %+v", o)
	}
	w.stop(e)
}

// A changed token, changed settings and changed code restart a gateway, draining first.
func TestRestartDrainsFirst(t *testing.T) {
	for name, change := range map[string]func(*engine.Workload, *Options){
		"token":    func(l *engine.Workload, _ *Options) { l.RestartToken, l.AutoUpdate = "1", false },
		"settings": func(l *engine.Workload, _ *Options) { l.Env = append(l.Env, "X=1") },
		"new uid":  func(l *engine.Workload, _ *Options) { l.UID, l.AutoUpdate = "uid-2", false },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.engine()
			load := w.workload()
			before := w.awaitRunning(e, load)
			change(&load, &w.opts)
			after := w.awaitObservation(e, load, "a new run", func(o obs) bool { return o.Running && o.Instance.ID != before.Instance.ID })
			if !after.Current || after.Restarts != 0 || w.notes("drained") == 0 || alive(int(before.Instance.PID)) {
				t.Errorf("drained %d times, observation %+v", w.notes("drained"), after)
			}
			w.stop(e)
		})
	}
}

// Without AutoUpdate a difference is reported and nothing is restarted.
func TestOutdatedIsReported(t *testing.T) {
	w := newWorld(t)
	w.opts.Revision = func() string { return "new" }
	e := w.engine()
	load := w.workload()
	load.AutoUpdate = false
	load.Env = append(load.Env, fakeRevisionVar+"=old")
	before := w.awaitRunning(e, load)
	if before.Current || !strings.Contains(before.CurrentMessage, "runs code old, installed is new") {
		t.Errorf("observation: %+v", before)
	}
	load.Env = append(load.Env, "X=1")
	after := w.awaitObservation(e, load, "the difference", func(o obs) bool { return strings.Contains(o.CurrentMessage, "settings differ: env") })
	if !after.Running || after.Current || after.Instance.ID != before.Instance.ID {
		t.Errorf("observation: %+v", after)
	}
	w.stop(e)
}

// Code that says another revision than the installed one even after a restart is not restarted for ever.
func TestRevisionMismatchDoesNotLoop(t *testing.T) {
	w := newWorld(t)
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	load := w.workload()
	load.Env = append(load.Env, fakeRevisionVar+"=old")
	before := w.awaitRunning(first, load)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	w.opts.Revision = func() string { return "new" }
	e := w.engine()
	after := w.awaitObservation(e, load, "one restart", func(o obs) bool { return o.Running && o.Instance.ID != before.Instance.ID })
	if after.Current || w.notes("drained") == 0 {
		t.Errorf("observation: %+v", after)
	}
	// A later drained restart would show in the notes before this stop ends the run.
	w.stop(e)
	if got := w.notes("started"); got != 2 {
		t.Errorf("%d starts, want 2", got)
	}
}

// A settled gateway costs no writes and no announcements, however often it is asked whether it lives.
func TestSettledIsQuiet(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	w.opts.PingInterval = 10 * time.Second
	e := w.engine()
	load := w.workload()
	w.awaitRunning(e, load)
	drainChanges(e)
	before := w.intentTime()
	for range 20 {
		awaitWaiter(t, clk)
		clk.Step(10 * time.Second)
		if o := w.ensure(e, load); !o.Running {
			t.Fatalf("observation: %+v", o)
		}
	}
	select {
	case ref := <-e.Changes():
		t.Errorf("announced %s though nothing changed", ref)
	default:
	}
	if after := w.intentTime(); !after.Equal(before) {
		t.Error("the intent was written though nothing changed")
	}
	w.stop(e)
}

// drainChanges reads announcements until there are none.
func drainChanges(e *Engine) {
	for {
		select {
		case <-e.Changes():
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// A closed engine says so.
func TestClosedEngine(t *testing.T) {
	w := newWorld(t)
	e, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ensure(context.Background(), w.workload()); err == nil {
		t.Error("Ensure on a closed engine succeeded")
	}
}
