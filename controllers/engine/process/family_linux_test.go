package process

import (
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/host"
)

// G9: an orphan is a stray unless somebody here holds it or it shows to belong to a gateway that lives.
func TestKinOfRuns_G9(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.Env = []string{runIDVariable + "=b"}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	m := runs{100: "a", 200: "b"}
	for name, c := range map[string]struct {
		p     procEntry
		ended int
		want  string
	}{
		"a gateway":                       {procEntry{PID: 100}, 200, "a"},
		"in the session of one":           {procEntry{PID: 1 << 30, SID: 100}, 200, "a"},
		"in the group of one":             {procEntry{PID: 1 << 30, PGID: 100}, 200, "a"},
		"in the session of the ended one": {procEntry{PID: 1 << 30, SID: 200}, 200, ""},
		"marked by one":                   {procEntry{PID: child.Process.Pid}, 100, "b"},
		"marked by the ended one":         {procEntry{PID: child.Process.Pid}, 200, ""},
		"nobody's":                        {procEntry{PID: 1 << 30, SID: 7, PGID: 8}, 200, ""},
	} {
		if got := m.kin(c.p, c.ended); got != c.want {
			t.Errorf("%s: kin %q, want %q", name, got, c.want)
		}
	}
}

// G9: a child that this process started on purpose, in a session of its own, is no gateway's stray.
func TestStraysLeaveChildrenAlone_G9(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	stray := newReaper(clock.RealClock{}).strays(1)
	for _, p := range listProcesses() {
		if p.PID == child.Process.Pid && stray(p) {
			t.Error("a child that is waited for counts as a stray")
		}
	}
}

// G9: what was seen below a gateway that is no child of ours dies with it, although nothing shows it any more.
func TestFamilySeenBeforeDies_G9(t *testing.T) {
	w := newWorld(t)
	op := w.startOperator(w.workload(modeEscaped), "")
	o := op.awaitRunning(t)
	daemon := w.pidIn("grandchild")
	main := host.ProcessID{PID: int(o.Instance.PID), StartTime: host.Observe(int(o.Instance.PID)).StartTime}
	id := host.ProcessID{PID: daemon, StartTime: host.Observe(daemon).StartTime}
	family := familyOf(main.PID)
	if !family[id] {
		t.Fatalf("the family %v of %d does not hold the daemon %v", family, main.PID, id)
	}
	op.kill()
	if err := syscall.Kill(main.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The first thread of a process is a zombie before the last one has let the children go.
	await(t, "the gateway to die", func() bool { return !alive(main.PID) && len(familyOf(main.PID)) == 0 }, nil)
	for name, rest := range map[string]tree{
		"without memory": {Main: main, RunID: o.Instance.ID},
		"later process":  {Main: main, RunID: o.Instance.ID, Family: map[host.ProcessID]bool{{PID: daemon, StartTime: id.StartTime - 1}: true}},
	} {
		if err := rest.kill(t.Context(), clock.RealClock{}); err != nil {
			t.Fatal(err)
		}
		if !alive(daemon) {
			t.Fatalf("%s: the daemon was ended although nothing shows that it belongs to the tree", name)
		}
	}
	rest := tree{Main: main, RunID: o.Instance.ID, Family: family}
	if err := rest.kill(t.Context(), clock.RealClock{}); err != nil {
		t.Fatal(err)
	}
	if alive(daemon) {
		t.Error("the daemon lives")
	}
}

// G9: the engine looks at the family with every question, so that even orphans that do not come to it are ended.
func TestFamilyIsSeenWhileTheGatewayLives_G9(t *testing.T) {
	w := newWorld(t)
	e := w.engine()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	o := w.awaitRunning(e, w.workload(modeEscaped))
	daemon := w.pidIn("grandchild")
	before := w.notes("asked")
	await(t, "two questions", func() bool { return w.notes("asked") >= before+2 }, nil)
	if err := syscall.Kill(int(o.Instance.PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the daemon to die", func() bool { return !alive(daemon) }, nil)
	w.stop(e)
}
