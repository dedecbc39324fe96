package process

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
)

// G8: a stop drains and lets work in flight finish.
func TestStopWaitsForWork_G8(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	load := w.workload(modeWork)
	load.DrainTimeout = time.Hour
	w.touch("work")
	o := w.awaitRunning(e, load)
	var last obs
	await(t, "draining", func() bool {
		var gone bool
		last, gone, _ = e.Stop(t.Context(), w.ref)
		return !gone && last.Reason == v1alpha1.ReasonDraining && strings.Contains(last.Message, "in flight (2)")
	}, func() string { return last.Message })
	if !alive(int(o.Instance.PID)) || w.notes("terminated") != 0 {
		t.Fatal("ended with work in flight")
	}
	w.remove("work")
	w.stop(e)
	if w.notes("terminated") != 1 {
		t.Error("was not asked to end after the drain")
	}
}

// G8: the drain timeout ends the wait, SIGTERM comes before SIGKILL, and SIGKILL ends what ignores it; all inside the budget.
func TestStopEscalatesInsideItsBudget_G8(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	e := w.engine()
	load := w.workload(modeWork, modeIgnoreTerm)
	load.DrainTimeout = 30 * time.Second
	w.touch("work")
	o := w.awaitRunning(e, load)
	began := clk.Now()
	stop := func() bool {
		_, gone, err := e.Stop(t.Context(), w.ref)
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	await(t, "the drain", func() bool { stop(); return w.notes("drained") > 0 }, nil)
	await(t, "SIGTERM", func() bool { clk.Step(100 * time.Millisecond); return w.notes("terminated") == 1 }, nil)
	if waited := clk.Since(began); waited < load.DrainTimeout {
		t.Errorf("SIGTERM after %s, before the drain timeout", waited)
	}
	if !alive(int(o.Instance.PID)) {
		t.Fatal("killed without grace")
	}
	graceBegan := clk.Now()
	await(t, "the end", func() bool { clk.Step(100 * time.Millisecond); return stop() }, nil)
	if waited := clk.Since(graceBegan); waited < termGrace {
		t.Errorf("killed after %s, before the grace was over", waited)
	}
	if w.notes("terminated") != 1 || alive(int(o.Instance.PID)) {
		t.Error("not killed")
	}
}

// G8: the budget holds the drain and every step after it.
func TestStopBudget_G8(t *testing.T) {
	for drain, want := range map[time.Duration]time.Duration{
		0: 19 * time.Second, -time.Second: 19 * time.Second, 30 * time.Second: 49 * time.Second, time.Hour: time.Hour + 19*time.Second,
	} {
		if got := StopBudget(drain); got != want {
			t.Errorf("StopBudget(%s) = %s, want %s", drain, got, want)
		}
	}
}

// G9: whatever the gateway started dies with it, in a session of its own, without its mark or without both, on a stop and
// on a crash; no zombie stays.
func TestWholeTreeDies_G9(t *testing.T) {
	for _, mode := range []string{modeGrandchild, modeStripped, modeEscaped} {
		for name, end := range map[string]func(w *world, e *Engine, pid int){
			"stop":  func(w *world, e *Engine, _ int) { w.stop(e) },
			"crash": func(w *world, e *Engine, pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) },
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				e := w.engine()
				o := w.awaitRunning(e, w.workload(mode))
				grandchild := w.pidIn("grandchild")
				if !alive(grandchild) {
					t.Fatal("no grandchild runs")
				}
				end(w, e, int(o.Instance.PID))
				await(t, "the grandchild to die", func() bool { return !alive(grandchild) }, nil)
				await(t, "no zombies", func() bool { return len(zombies()) == 0 }, nil)
				w.stop(e)
			})
		}
	}
}

// G9: what an adopted gateway started dies too, and what it left behind when it died unobserved.
func TestTreeOfAdoptedGatewayDies_G9(t *testing.T) {
	for name, unobserved := range map[string]bool{"adopted": false, "died unobserved": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			load := w.workload(modeGrandchild)
			op := w.startOperator(load, "")
			o := op.awaitRunning(t)
			grandchild := w.pidIn("grandchild")
			op.kill()
			if unobserved {
				if err := syscall.Kill(int(o.Instance.PID), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				await(t, "the gateway to die", func() bool { return !alive(int(o.Instance.PID)) }, nil)
			}
			e := w.engine()
			w.stop(e)
			if alive(grandchild) {
				t.Error("the grandchild lives")
			}
		})
	}
}

// G9: orphans of a living gateway are collected as they end.
func TestOrphansAreCollected_G9(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	w.awaitRunning(e, w.workload(modeOrphan))
	await(t, "no zombie of the gateway's session", func() bool {
		for _, p := range zombies() {
			if p.SID == w.readIntent().Seen.Run.PID {
				return false
			}
		}
		return true
	}, nil)
	w.stop(e)
}

// G7: each run has its log, the newest runs' logs stay, and the supervisor's death changes nothing.
func TestRunLogs_G7(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	e := w.engine()
	load := w.workload(modeCrashEarly)
	for attempt := 1; attempt <= keptRuns+2; attempt++ {
		o := w.awaitObservation(e, load, "the next attempt", func(o obs) bool { return o.NextAttempt.After(clk.Now()) && w.notes("started") == attempt })
		awaitWaiter(t, clk)
		clk.SetTime(o.NextAttempt)
	}
	w.awaitObservation(e, load, "one more", func(o obs) bool { return o.NextAttempt.After(clk.Now()) })
	logs := findRunLogs(filepath.Join(w.opts.Dir, "ns", "gw", "logs"))
	if len(logs) != keptRuns {
		t.Errorf("%d logs, want %d", len(logs), keptRuns)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(log), "run-"), ".log")
		if err != nil || !strings.Contains(string(data), "fake gateway "+id) || !strings.Contains(string(data), "frobnicator") {
			t.Errorf("log %s: %q %v", log, data, err)
		}
	}
	w.stop(e)
}

// G10: without a delegated cgroup the limit is the process's own aim, and the message says so.
func TestSoftMemoryLimitIsSaid_G10(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	load := w.workload()
	load.MemoryLimit = 64 << 20
	o := w.awaitRunning(e, load)
	if !strings.Contains(o.Message, "memory limit 64 MiB is soft (GOMEMLIMIT only") {
		t.Errorf("message: %s", o.Message)
	}
	w.stop(e)
}
