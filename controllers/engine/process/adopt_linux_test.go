package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

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
	again := w.awaitObservation(e, load, "a new run", func(o obs) bool { return o.Running && o.Instance.ID != before.Instance.ID })
	if again.Restarts != 1 {
		t.Errorf("restarts = %d, want 1", again.Restarts)
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
