package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// G6: a started gateway is not running until it answers with its own identity.
func TestStartingIsNotRunning_G6(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	load := w.workload(modeSlow)
	o := w.awaitObservation(e, load, "the process", func(o obs) bool { return o.Instance != nil })
	if o.Running || o.Reason != v1alpha1.ReasonStarting || o.Current {
		t.Errorf("before it answers: %+v", o)
	}
	w.touch("go")
	o = w.awaitRunning(e, load)
	if o.Reason != v1alpha1.ReasonRunning || !o.Current || o.Instance.APISocket != w.home+"/api.sock" {
		t.Errorf("after it answered: %+v", o)
	}
	w.stop(e)
}

// G6: a gateway that never answers is ended when the startup deadline is over, and tried again after a pause.
func TestStartupDeadline_G6(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	w.opts.StartDeadline = time.Minute
	e := w.engine()
	load := w.workload(modeSilent)
	o := w.awaitObservation(e, load, "the process", func(o obs) bool { return o.Instance != nil && exists(w.home+"/environ") })
	awaitWaiter(t, clk)
	clk.Step(59 * time.Second)
	if !alive(int(o.Instance.PID)) {
		t.Fatal("ended before the deadline")
	}
	o = w.awaitObservation(e, load, "the deadline", func(o obs) bool {
		clk.Step(time.Second)
		return o.Reason == v1alpha1.ReasonNotResponding
	})
	if o.Running || o.Stalled {
		t.Errorf("observation: %+v", o)
	}
	w.stop(e)
}

// G6: one missed answer is no death; several in a row are, and the gateway is restarted.
func TestNotResponding_G6(t *testing.T) {
	w := newWorld(t)
	w.opts.PingInterval = 20 * time.Millisecond
	w.opts.MissedPings = 2
	w.opts.ask = 200 * time.Millisecond
	e := w.engine()
	load := w.workload()
	before := w.awaitRunning(e, load)
	if err := syscall.Kill(int(before.Instance.PID), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	o := w.awaitReason(e, load, v1alpha1.ReasonNotResponding)
	if o.Running {
		t.Errorf("observation: %+v", o)
	}
	after := w.awaitRunning(e, load)
	if after.Instance.ID == before.Instance.ID || after.Restarts != 1 || after.LastExitReason != v1alpha1.ReasonNotResponding || alive(int(before.Instance.PID)) {
		t.Errorf("after the restart: %+v", after)
	}
	w.stop(e)
}

// G11: no more gateways are starting at once than allowed; the others say that they wait.
func TestStaggeredStarts_G11(t *testing.T) {
	const fleet, limit = 6, 2
	w := newWorld(t)
	w.touch("exists")
	w.opts.MaxConcurrentStarts = limit
	e := w.engine()
	worlds, loads := make([]*world, fleet), make([]engine.Workload, fleet)
	for i := range worlds {
		worlds[i] = newWorld(t)
		worlds[i].ref.Name = fmt.Sprintf("gw%d", i)
		loads[i] = worlds[i].workload(modeSlow)
		// All write down what happens in one file, in order.
		loads[i].Env = append(loads[i].Env, "FAKE_NOTES="+w.home+"/notes")
		worlds[i].ensure(e, loads[i])
	}
	await(t, "the first starts", func() bool { return w.notes("started") == limit }, nil)
	for i, one := range worlds {
		one.awaitObservation(e, loads[i], "a start or a queue", func(o obs) bool {
			return o.Instance != nil || o.Message == "waits for its turn: other gateways are starting"
		})
	}
	if got := w.notes("started"); got != limit {
		t.Fatalf("%d gateways are starting, want %d", got, limit)
	}
	for _, one := range worlds {
		one.touch("go")
	}
	for i, one := range worlds {
		one.awaitRunning(e, loads[i])
	}
	data, err := os.ReadFile(w.home + "/notes")
	if err != nil {
		t.Fatal(err)
	}
	starting := 0
	for line := range strings.Lines(string(data)) {
		switch {
		case strings.HasPrefix(line, "started "):
			starting++
		case strings.HasPrefix(line, "answering "):
			starting--
		}
		if starting > limit {
			t.Fatalf("%d gateways were starting at once, want at most %d:\n%s", starting, limit, data)
		}
	}
	for _, one := range worlds {
		one.stop(e)
	}
}
