package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/host"
)

// G1: the same process keeps serving after the supervisor was killed, and its end is noticed by the next one.
func TestAdoptAfterSupervisorIsKilled_G1(t *testing.T) {
	w := newWorld(t)
	load := w.workload()
	op := w.startOperator(load, "")
	before := op.awaitRunning(t)
	op.kill()
	if !alive(int(before.Instance.PID)) {
		t.Fatal("the gateway died with its supervisor")
	}
	e := w.engine()
	after := w.ensure(e, load)
	if !after.Running || after.Instance.PID != before.Instance.PID || after.Instance.ID != before.Instance.ID {
		t.Fatalf("first answer of the new engine: %+v, want the same run as %+v", after, before.Instance)
	}
	if after.Instance.StartedAt.Unix() != before.Instance.StartedAt.Unix() {
		t.Errorf("adopted run started at %v, was %v", after.Instance.StartedAt, before.Instance.StartedAt)
	}
	if err := syscall.Kill(int(after.Instance.PID), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	crashed := w.awaitObservation(e, load, "the crash", func(o obs) bool { return !o.NextAttempt.IsZero() })
	if !strings.Contains(crashed.Message, "told to crash") {
		t.Errorf("the end of an adopted run is not told: %s", crashed.Message)
	}
	again := w.awaitObservation(e, load, "a new run", func(o obs) bool { return o.Running && o.Instance.ID != before.Instance.ID })
	if again.Restarts != 1 || again.LastExitReason != v1alpha1.ReasonCrashLoop {
		t.Errorf("restarts = %d because of %q, want 1 because of a crash", again.Restarts, again.LastExitReason)
	}
	w.stop(e)
	if got := w.notes("started"); got != 2 {
		t.Errorf("%d gateways were started, want 2", got)
	}
}

// G1: Close lets go without stopping, and an engine of the same process adopts.
func TestCloseLetsGo_G1(t *testing.T) {
	w := newWorld(t)
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	before := w.awaitRunning(first, w.workload())
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if !alive(int(before.Instance.PID)) {
		t.Fatal("Close stopped the gateway")
	}
	e := w.engine()
	if after := w.ensure(e, w.workload()); !after.Running || after.Instance.PID != before.Instance.PID {
		t.Fatalf("not adopted: %+v", after)
	}
	w.stop(e)
}

// G1: a gateway that did not answer yet when its supervisor died is adopted by pid, start time, executable and run id.
func TestAdoptBeforeItAnswers_G1(t *testing.T) {
	w := newWorld(t)
	load := w.workload(modeSlow)
	op := w.startOperator(load, "")
	await(t, "the start", func() bool {
		in := w.readIntent()
		return in.Seen.Run != nil && in.Seen.Run.State == spawnRecorded && w.notes("started") == 1
	}, nil)
	op.kill()
	pid := w.readIntent().Seen.Run.PID
	e := w.engine()
	if o := w.ensure(e, load); o.Running || o.Instance == nil || o.Instance.PID != int64(pid) {
		t.Fatalf("want pid %d starting, got %+v", pid, o)
	}
	w.touch("go")
	if o := w.awaitRunning(e, load); o.Instance.PID != int64(pid) {
		t.Fatalf("pid %d, want %d", o.Instance.PID, pid)
	}
	w.stop(e)
}

// G3: whichever the point at which the supervisor dies during a start, exactly one gateway results.
func TestSupervisorDiesDuringStart_G3(t *testing.T) {
	for _, point := range []string{hookIntended, hookSpawned, hookRecorded} {
		t.Run(point, func(t *testing.T) {
			w := newWorld(t)
			load := w.workload()
			op := w.startOperator(load, point)
			_ = op.cmd.Wait()
			in := w.readIntent()
			if in.Seen.Run == nil {
				t.Fatal("no intent was written before the spawn")
			}
			if recorded := in.Seen.Run.State == spawnRecorded; recorded != (point == hookRecorded) {
				t.Fatalf("intent at %s: %+v", point, in.Seen.Run)
			}
			e := w.engine()
			o := w.awaitRunning(e, load)
			adopted := o.Instance.ID == in.Seen.Run.ID
			if adopted != (point != hookIntended) {
				t.Errorf("adopted = %v", adopted)
			}
			if o.Restarts != 0 {
				t.Errorf("restarts = %d, want 0: nothing failed", o.Restarts)
			}
			w.stop(e)
			if got := w.notes("started"); got != 1 {
				t.Errorf("%d gateways were started, want 1", got)
			}
		})
	}
}

// G3: a lost or damaged intent does not double a gateway.
func TestIntentLost_G3(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			load := w.workload()
			load.AutoUpdate = false
			op := w.startOperator(load, "")
			before := op.awaitRunning(t)
			op.kill()
			if err := damage(filepath.Join(w.opts.Dir, "ns", "gw", intentFileName)); err != nil {
				t.Fatal(err)
			}
			e := w.engine()
			after := w.ensure(e, load)
			if !after.Running || after.Instance.PID != before.Instance.PID || after.Current {
				t.Fatalf("want pid %d running and not current, got %+v", before.Instance.PID, after)
			}
			w.stop(e)
			if got := w.notes("started"); got != 1 {
				t.Errorf("%d gateways were started, want 1", got)
			}
		})
	}
}

// G1: what may be adopted, as a table.
func TestMayAdopt_G1(t *testing.T) {
	for name, c := range map[string]struct {
		e    evidence
		want bool
	}{
		"answers":                    {evidence{Process: host.Alive, SameExe: true, Marked: true, Answered: true}, true},
		"answers, /proc hidden":      {evidence{Process: host.Unknown, Answered: true}, true},
		"answers, exe replaced":      {evidence{Process: host.Alive, Marked: true, Answered: true}, true},
		"silent but proven":          {evidence{Process: host.Alive, SameExe: true, Marked: true}, true},
		"pid and start time only":    {evidence{Process: host.Alive}, false},
		"no run id":                  {evidence{Process: host.Alive, SameExe: true}, false},
		"another executable":         {evidence{Process: host.Alive, Marked: true}, false},
		"start time unknown":         {evidence{Process: host.Unknown, SameExe: true, Marked: true}, false},
		"dead or recycled":           {evidence{Process: host.Dead, SameExe: true, Marked: true}, false},
		"dead though something says": {evidence{Process: host.Dead, SameExe: true, Marked: true, Answered: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mayAdopt(c.e); got != c.want {
				t.Errorf("mayAdopt(%+v) = %v", c.e, got)
			}
		})
	}
}

// G1: a gateway that was long ready and hangs when it is adopted is given time to answer, whenever it was started.
func TestAdoptedHungGatewayHasTime_G1(t *testing.T) {
	w := newWorld(t)
	clk := w.fakeTime()
	w.opts.ask = 200 * time.Millisecond
	first, err := New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	load := w.workload()
	before := w.awaitRunning(first, load)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(int(before.Instance.PID), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	await(t, "silence", func() bool { return w.notes("muted") == 1 }, nil)
	clk.Step(time.Hour)
	e := w.engine()
	o := w.ensure(e, load)
	if o.Running || o.Reason != v1alpha1.ReasonStarting || o.Instance == nil || o.Instance.ID != before.Instance.ID {
		t.Fatalf("observation: %+v", o)
	}
	w.awaitObservation(e, load, "the deadline", func(o obs) bool {
		clk.Step(time.Second)
		return o.Reason == v1alpha1.ReasonNotResponding
	})
	w.stop(e)
}

// G5: the exit status of a process that somebody else collects is learnt from the kernel, where it tells (since 6.15).
func TestForeignStatus_G5(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "read line; exit 7")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h, err := openHandle(host.ProcessID{PID: cmd.Process.Pid, StartTime: host.Observe(cmd.Process.Pid).StartTime})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	if isClosed(h.ended()) {
		t.Fatal("a living process has ended")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	select {
	case <-h.ended():
	case <-time.After(patience):
		t.Fatal("the end was not noticed")
	}
	ws, known := h.foreignStatus()
	if known && ws.ExitStatus() != 7 {
		t.Errorf("exit status %d, want 7", ws.ExitStatus())
	}
	if !known && kernelAtLeast(t, 6, 15) {
		t.Error("the kernel did not tell the exit status")
	}
}

func kernelAtLeast(t *testing.T, major, minor int) bool {
	t.Helper()
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	var gotMajor, gotMinor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &gotMajor, &gotMinor); err != nil {
		t.Fatal(err)
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

// G1: a pid that belongs to a later process is never held.
func TestRecycledPIDIsNotHeld_G1(t *testing.T) {
	if _, err := openHandle(host.ProcessID{PID: os.Getpid(), StartTime: 1}); !errors.Is(err, errGone) {
		t.Errorf("held a process by its pid alone: %v", err)
	}
}
