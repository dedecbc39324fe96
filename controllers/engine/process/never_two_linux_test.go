package process

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// startForeign runs a gateway nobody of ours manages on the world's home.
func (w *world) startForeign(extra ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(w.opts.Binary, append([]string{"gateway", "run", "--home", w.home}, extra...)...)
	cmd.Env = []string{"FAKE="}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	await(w.t, "the foreign gateway", func() bool { return w.notes("ready") == 1 }, nil)
	return cmd
}

// G2: somebody else's gateway is neither killed nor doubled, and ours starts when it leaves.
func TestForeignGatewayIsRespected_G2(t *testing.T) {
	w := newWorld(t)
	foreign := w.startForeign()
	e := w.engine()
	load := w.workload()
	o := w.awaitReason(e, load, v1alpha1.ReasonHostOwnedElsewhere)
	if o.Running || o.Stalled || !strings.Contains(o.Message, "pid") || o.Instance != nil {
		t.Errorf("observation: %+v", o)
	}
	if w.notes("started") != 1 || !alive(foreign.Process.Pid) {
		t.Fatal("the foreign gateway was doubled or killed")
	}
	_ = foreign.Process.Kill()
	_ = foreign.Wait()
	w.awaitRunning(e, load)
	w.stop(e)
}

// G2: a gateway that another control plane started for a Gateway of the same name is foreign.
func TestOtherControlPlaneIsForeign_G2(t *testing.T) {
	w := newWorld(t)
	foreign := w.startForeign("--namespace", "ns", "--name", "gw", "--kubeconfig", "/elsewhere", "--run-id", "other")
	e := w.engine()
	w.awaitReason(e, w.workload(), v1alpha1.ReasonHostOwnedElsewhere)
	w.stop(e)
	if !alive(foreign.Process.Pid) {
		t.Fatal("Stop killed a foreign gateway")
	}
}

// G2: the lock a gateway holds for life is what finally decides; the loser ends with 75 and is tried again.
func TestLockDecides_G2(t *testing.T) {
	w := newWorld(t)
	cmd := exec.Command(w.opts.Binary, "gateway", "run", "--home", w.home)
	cmd.Env = []string{"FAKE=silent"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	await(t, "the lock", func() bool { return exists(w.home + "/environ") }, nil)
	e := w.engine()
	o := w.awaitReason(e, w.workload(), v1alpha1.ReasonHostOwnedElsewhere)
	if o.Stalled || o.NextAttempt.IsZero() {
		t.Errorf("want another attempt: %+v", o)
	}
	w.stop(e)
}

// G2: one state directory has one engine.
func TestOneEnginePerDirectory_G2(t *testing.T) {
	w := newWorld(t)
	w.engine()
	if _, err := New(w.opts); err == nil || !strings.Contains(err.Error(), "another hermes operator") {
		t.Fatalf("second engine: %v", err)
	}
}

// G2: Ensure and Stop from many callers at once never yield two gateways.
func TestConcurrentCallers_G2(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	load := w.workload()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := e.Ensure(context.Background(), load); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	w.awaitRunning(e, load)
	if got := w.notes("started"); got != 1 {
		t.Errorf("%d gateways were started, want 1", got)
	}
	w.stop(e)
}

// Stop of what never was is done at once; stopping twice is harmless; stopped workloads leave no intent.
func TestStopConverges(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	if _, gone, err := e.Stop(context.Background(), w.ref); err != nil || !gone {
		t.Fatalf("stop of nothing: gone=%v err=%v", gone, err)
	}
	o := w.awaitRunning(e, w.workload())
	w.stop(e)
	if alive(int(o.Instance.PID)) {
		t.Error("gone and yet alive")
	}
	if refs, err := e.Known(); err != nil || len(refs) != 0 {
		t.Errorf("known after stop: %v, %v", refs, err)
	}
	w.stop(e)
	w.awaitRunning(e, w.workload())
	if refs, err := e.Known(); err != nil || len(refs) != 1 || refs[0] != (engine.Ref{Namespace: "ns", Name: "gw"}) {
		t.Errorf("known while running: %v, %v", refs, err)
	}
	w.stop(e)
}

// A stop that an earlier operator began, or that nobody got round to, is finished by the next one.
func TestStopOfAnAdoptedGateway_G1(t *testing.T) {
	w := newWorld(t)
	op := w.startOperator(w.workload(), "")
	before := op.awaitRunning(t)
	op.kill()
	e := w.engine()
	w.stop(e)
	if alive(int(before.Instance.PID)) {
		t.Error("gone and yet alive")
	}
}

// Only declared variables and the engine's own reach a gateway. G12: what systemd gave this process stays here; a
// gateway that fed the watchdog or said that it is ready would speak for a unit it does not own.
func TestEnvironmentIsBuilt_G12(t *testing.T) {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "INVOCATION_ID"} {
		t.Setenv(name, "1")
	}
	w := newWorld(t)
	load := w.workload()
	load.Env = append(load.Env, "DECLARED=yes", "HERMES_RUN_ID=forged")
	load.MemoryLimit = 1000 << 20
	e := w.engine()
	o := w.awaitRunning(e, load)
	data, err := os.ReadFile(w.home + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "FAKE=", "DECLARED=yes",
		"HERMES_RUN_ID=" + o.Instance.ID, "GOMEMLIMIT=943718400"}, "\n")
	if string(data) != want {
		t.Errorf("environment:\n%s\nwant:\n%s", data, want)
	}
	w.stop(e)
}

// A gateway that is wanted again while it is stopped is ended first and started then, never doubled.
func TestEnsureDuringStop_G2(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	load := w.workload(modeWork)
	load.DrainTimeout = time.Hour
	w.touch("work")
	before := w.awaitRunning(e, load)
	await(t, "the drain", func() bool {
		_, _, err := e.Stop(context.Background(), w.ref)
		return err == nil && w.notes("drained") > 0
	}, nil)
	if o := w.ensure(e, load); o.Running {
		t.Errorf("running while it drains: %+v", o)
	}
	w.remove("work")
	after := w.awaitRunning(e, load)
	if after.Instance.ID == before.Instance.ID || alive(int(before.Instance.PID)) || w.notes("lost-the-lock") != 0 {
		t.Errorf("after: %+v", after)
	}
	w.stop(e)
}
