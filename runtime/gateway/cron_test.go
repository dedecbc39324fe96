package gateway

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.dev/hermes/runtime/cron"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/wallclock"
)

// tickVariable is the cadence of a child's ticks.
const tickVariable = "HERMES_GATEWAY_TEST_TICK"

// jobsOf is a profile's job store as somebody else's process sees it, with its clock off by step.
func jobsOf(t *testing.T, home string, step time.Duration) *cron.Store {
	t.Helper()
	c := &wallclock.Clock{}
	c.Step(step)
	store, err := cron.Open(home, cron.Options{Clock: c, Owner: cron.Owner{Host: "elsewhere", PID: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// dueJob makes an hourly job whose first time has just come.
func dueJob(t *testing.T, home, name string) cron.Job {
	t.Helper()
	j, err := jobsOf(t, home, -time.Hour-time.Second).Create(context.Background(), cron.NewJob{Name: name, Prompt: name, Schedule: "every 1h"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// eventually waits for a condition; what says how things stand.
func eventually(t *testing.T, what func() string, ok func() bool) {
	t.Helper()
	deadline, poll := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal(what())
		}
	}
}

func modelConfig(m *fakemodel.Server) string {
	return "model: {provider: custom, base_url: '" + m.URL() + "', default: fake-1}\n"
}

func asked(m *fakemodel.Server, prompt string) int {
	n := 0
	for _, r := range m.Requests() {
		if bytes.Contains(r.Body, []byte(prompt)) {
			n++
		}
	}
	return n
}

// TestTickInGateway: a gateway runs what is due in each of its profiles, once; a job file that cannot be read shows in its
// profile alone. Killed in the middle of a run, the next gateway says unknown and does not run it again.
func TestTickInGateway(t *testing.T) {
	t.Setenv(tickVariable, "50ms")
	m, err := fakemodel.Start("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	hold := make(chan struct{})
	m.Respond(func(r fakemodel.Request) fakemodel.Turn {
		if bytes.Contains(r.Body, []byte("slow-work")) {
			return fakemodel.Turn{Text: "late", Gate: hold}
		}
		return fakemodel.Text("done")
	})
	t.Cleanup(func() { close(hold) })
	root, locks := hostRoot(t, "gateway: {multiplex_profiles: true}\n"+modelConfig(m))
	coder, ops := filepath.Join(root, "profiles", "coder"), filepath.Join(root, "profiles", "ops")
	write(t, filepath.Join(ops, "config.yaml"), modelConfig(m))
	write(t, filepath.Join(coder, "cron", "jobs.json"), `{"jobs": [`)
	slow, quick := dueJob(t, root, "slow-work"), dueJob(t, ops, "quick-work")

	first := startChild(t, root, locks)
	first.fire(t)
	first.await(t, "serving")
	eventually(t, func() string { return "the slow job was not begun" }, func() bool { return asked(m, "slow-work") == 1 })
	opsJobs := jobsOf(t, ops, 0)
	quickRuns := func() []cron.Execution {
		runs, _ := opsJobs.Executions(context.Background(), quick.ID, 10)
		return runs
	}
	eventually(t, func() string { return "the quick job did not end" }, func() bool { r := quickRuns(); return len(r) == 1 && r[0].Status == cron.ExecutionCompleted })
	eventually(t, func() string { return "the broken profile does not show it" }, func() bool {
		raw, _ := os.ReadFile(filepath.Join(coder, "cron", "ticker_last_error"))
		return strings.Contains(string(raw), "jobs.json")
	})
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.wait(t)

	second := startChild(t, root, locks)
	second.fire(t)
	second.await(t, "serving")
	rootJobs := jobsOf(t, root, 0)
	slowRuns := func() []cron.Execution {
		runs, _ := rootJobs.Executions(context.Background(), slow.ID, 10)
		return runs
	}
	eventually(t, func() string { return "the run that was killed is not unknown" }, func() bool { r := slowRuns(); return len(r) == 1 && r[0].Status == cron.ExecutionUnknown })
	success := rootJobs.Markers().Success
	eventually(t, func() string { return "no tick succeeded" }, func() bool { return rootJobs.Markers().Success.After(success.Add(200 * time.Millisecond)) })
	if n, k := asked(m, "slow-work"), len(quickRuns()); n != 1 || k != 1 {
		t.Errorf("the slow job was begun %d times, the quick one %d times", n, k)
	}
	if code := second.end(t); code != 0 {
		t.Errorf("the gateway ended with %d", code)
	}
}

// TestMayTick: C-190, a gateway that may not tick a profile leaves it alone, and one that drains every one.
func TestMayTick(t *testing.T) {
	g := &gateway{o: Options{MayTick: func(p string) bool { return p == "alice" }}}
	if !g.mayTick("alice") || g.mayTick("bob") {
		t.Error("the question is not asked")
	}
	g.draining.Store(true)
	if g.mayTick("alice") {
		t.Error("a gateway that drains ticks")
	}
	g = &gateway{}
	if !g.mayTick("anybody") {
		t.Error("a gateway that holds its home does not tick")
	}
}
