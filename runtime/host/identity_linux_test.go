package host

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// G-212: pid plus start time, three answers.
func TestJudgeProcess(t *testing.T) {
	running := func(start int64) Observation { return Observation{State: Alive, StartTime: start} }
	for _, tc := range []struct {
		name string
		p    ProcessID
		seen Observation
		want Liveness
	}{
		{"same start", ProcessID{7, 100}, running(100), Alive},
		{"later process has the pid", ProcessID{7, 100}, running(101), Dead},
		{"no start recorded", ProcessID{7, 0}, running(100), Unknown},
		{"negative start recorded", ProcessID{7, -4}, running(100), Unknown},
		{"start not observable", ProcessID{7, 100}, running(0), Unknown},
		{"pid is free", ProcessID{7, 100}, Observation{State: Dead}, Dead},
		{"zombie with its own start", ProcessID{7, 100}, Observation{State: Dead, StartTime: 100}, Dead},
		{"kernel does not say", ProcessID{7, 100}, Observation{}, Unknown},
		{"no pid", ProcessID{0, 100}, running(100), Dead},
		{"negative pid", ProcessID{-1, 100}, running(100), Dead},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := JudgeProcess(tc.p, tc.seen); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// one tolerance, and unknown agrees with nothing.
func TestSameCreateTime(t *testing.T) {
	for _, tc := range []struct {
		a, b float64
		want bool
	}{
		{1000.25, 1000.25, true},
		{1000, 1001.99, true},
		{1000, 1002.01, false},
		{1002.01, 1000, false},
		{0, 0, false},
		{-1, -1, false},
		{math.Inf(1), math.Inf(1), false},
		{math.NaN(), math.NaN(), false},
	} {
		if got := SameCreateTime(tc.a, tc.b); got != tc.want {
			t.Errorf("SameCreateTime(%v, %v) = %v", tc.a, tc.b, got)
		}
	}
}

func TestObserveSelf(t *testing.T) {
	seen := Observe(os.Getpid())
	if seen.State != Alive || seen.StartTime <= 0 || seen.CreateTime <= 0 || seen.BootID == "" {
		t.Fatalf("own process observed as %+v", seen)
	}
	if again := Observe(os.Getpid()); !SameStart(seen.StartTime, again.StartTime) || !SameCreateTime(seen.CreateTime, again.CreateTime) {
		t.Errorf("two observations disagree: %+v, %+v", seen, again)
	}
	if got := ProcessLiveness(ProcessID{os.Getpid(), seen.StartTime + 1}); got != Dead {
		t.Errorf("own pid with another start is %s", got)
	}
}

// the creation time is the wall-clock time at which the process really began.
func TestCreateTimeIsAWallClockTime(t *testing.T) {
	self := Observe(os.Getpid())
	info, err := os.Stat("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	// procfs stamps its directories when they are first looked up, so they cannot be older than the process.
	if first := float64(info.ModTime().UnixNano()) / 1e9; self.CreateTime > first+createTimeToleranceSeconds {
		t.Errorf("created at %f, after it was first seen at %f", self.CreateTime, first)
	}
	child := startHelper(t, "claimant")
	if seen := Observe(child.pid()); seen.CreateTime < self.CreateTime-createTimeToleranceSeconds {
		t.Errorf("child was created at %f, before its parent at %f", seen.CreateTime, self.CreateTime)
	}
}

// G-212: a zombie is dead although its pid and start time still match.
func TestZombieIsDead(t *testing.T) {
	child := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read x")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	identity := ProcessID{child.Process.Pid, Observe(child.Process.Pid).StartTime}
	if got := ProcessLiveness(identity); got != Alive {
		t.Fatalf("running child is %s", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	awaitZombie(t, identity.PID)
	if seen := Observe(identity.PID); seen.State != Dead || seen.StartTime != identity.StartTime {
		t.Errorf("zombie observed as %+v", seen)
	}
	_ = child.Wait()
	if got := ProcessLiveness(identity); got != Dead {
		t.Errorf("reaped child is %s", got)
	}
}

func TestParseProcStat(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"
	for _, tc := range []struct {
		name, line string
		state      byte
		ticks      int64
		ok         bool
	}{
		{"plain", "7 (hermes)" + tail, 'S', 4242, true},
		{"name with spaces and parentheses", "7 (a) R 9 (b) c)" + tail, 'S', 4242, true},
		{"no name", "7 hermes S 1", 0, 0, false},
		{"short", "7 (hermes) S 1 2", 0, 0, false},
		{"empty", "", 0, 0, false},
		{"start is no number", "7 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 soon 20", 0, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseProcStat([]byte(tc.line))
			if (err == nil) != tc.ok || got.state != tc.state || got.startTicks != tc.ticks {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// G-224: an owner that is killed but not reaped yet is proved gone.
func TestZombieOwnerIsStale(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	owner := startHelper(t, "claimant")
	owner.do(command{Do: "claim", Dir: dir, Home: "/owner"})
	r := newRendezvous(t, dir)
	if err := owner.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitZombie(t, owner.pid())
	if record, standing, reason := r.Look(); record == nil || standing != Stale {
		t.Errorf("record of a zombie judged %s (%s)", standing, reason)
	}
	if got := r.Claim(Offer{Home: "/second"}); got.Outcome != Acquired {
		t.Errorf("claim beside a zombie: %+v", got)
	}
}

// awaitZombie returns once a child has ended and leaves it unreaped.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			t.Fatalf("wait for %d to become a zombie: %v", pid, err)
		}
	}
}
