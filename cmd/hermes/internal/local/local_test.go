package local

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/cmd/hermes/internal/datadir"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/host"
)

// The test binary plays the programs that these tests start: its first argument says which.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "play-healthy":
			if err := SayReady(OpenReadyPipe()); err != nil {
				os.Exit(1)
			}
			select {} // until it is killed
		case "play-refusal":
			os.Stderr.WriteString("line one\nhermes: the address is taken\n")
			os.Exit(exit.Refused)
		case "play-silence":
			os.Exit(3)
		}
	}
	goleak.VerifyTestMain(m)
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTakeIsExclusive(t *testing.T) {
	d := datadir.Dir(t.TempDir())
	lock, owner, err := Take(d, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if owner.PID != os.Getpid() || !owner.Alive() {
		t.Errorf("owner = %+v", owner)
	}
	if found, ok := d.Up(); !ok || found.PID != os.Getpid() {
		t.Errorf("Up = %+v, %t", found, ok)
	}
	_, _, err = Take(d, time.Now())
	if exit.Code(err) != exit.TryAgain || !strings.Contains(err.Error(), string(d)) || !strings.Contains(err.Error(), "pid ") {
		t.Errorf("second Take: code %d, %v", exit.Code(err), err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	lock, _, err = Take(d, time.Now())
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}

// A pid that another process has by now is never signalled.
func TestTerminateProvesWhoItIs(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- child.Wait() }()
	pid := child.Process.Pid
	start := host.Observe(pid).StartTime
	gone, err := Terminate(t.Context(), host.ProcessID{PID: pid, StartTime: start + 1})
	if err != nil || !gone {
		t.Errorf("another start time: gone %t, %v", gone, err)
	}
	if host.Observe(pid).State != host.Alive {
		t.Fatal("a process of another identity was signalled")
	}
	if gone, err := Terminate(t.Context(), host.ProcessID{PID: pid, StartTime: start}); err != nil || !gone {
		t.Errorf("gone %t, %v", gone, err)
	}
	<-done
	if gone, err := Terminate(t.Context(), host.ProcessID{PID: pid, StartTime: start}); err != nil || !gone {
		t.Errorf("a process that is gone: gone %t, %v", gone, err)
	}
}

func TestBackground(t *testing.T) {
	log := filepath.Join(t.TempDir(), "up.log")
	if err := os.WriteFile(log, []byte("hermes: an old failure\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, err := Background(t.Context(), self(t), []string{"play-healthy"}, log)
	if err != nil {
		t.Fatal(err)
	}
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("session %d, %v: want one of its own", session, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err = Background(t.Context(), self(t), []string{"play-refusal"}, log)
	var died *DiedError
	if !errors.As(err, &died) || exit.Code(err) != exit.Refused || died.Reason != "the address is taken" || len(died.Lines) != 2 {
		t.Errorf("code %d, %#v", exit.Code(err), err)
	}
	_, err = Background(t.Context(), self(t), []string{"play-silence"}, log)
	if exit.Code(err) != 3 || !strings.Contains(err.Error(), "wrote nothing") {
		t.Errorf("code %d, %v: the old failure is not this one's", exit.Code(err), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Background(ctx, "/bin/sleep", []string{"60"}, log); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// fakeEngine is gone with a gateway after as many questions as its number says; a negative one never ends.
type fakeEngine struct {
	Engine
	mu      sync.Mutex
	left    map[engine.Ref]int
	changes chan engine.Ref
}

func (f *fakeEngine) Known() ([]engine.Ref, error) {
	var out []engine.Ref
	for ref := range f.left {
		out = append(out, ref)
	}
	return out, nil
}

func (f *fakeEngine) Stop(_ context.Context, ref engine.Ref) (engine.Observation, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left[ref]--
	select {
	case f.changes <- ref:
	default:
	}
	return engine.Observation{}, f.left[ref] == 0, nil
}

func (f *fakeEngine) Changes() <-chan engine.Ref { return f.changes }

func TestStopGateways(t *testing.T) {
	a, b := engine.Ref{Namespace: "n", Name: "a"}, engine.Ref{Namespace: "n", Name: "b"}
	f := &fakeEngine{left: map[engine.Ref]int{a: 1, b: 3}, changes: make(chan engine.Ref, 1)}
	if err := StopGateways(t.Context(), f); err != nil {
		t.Error(err)
	}
	if f.left[a] != 0 {
		t.Errorf("a gateway that is gone was stopped again %d times", -f.left[a])
	}
	f = &fakeEngine{left: map[engine.Ref]int{a: 1, b: -1}, changes: make(chan engine.Ref, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := StopGateways(ctx, f); err == nil || !strings.Contains(err.Error(), "still running: gateway n/b") {
		t.Errorf("a gateway that stays: %v", err)
	}
}

// G12: whoever systemd started says once that the unit is up, and nothing when systemd did not ask.
func TestNotifyReadySpeaksOnce_G12(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	NotifyReady(logr.Discard())
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "")
	NotifyReady(logr.Discard())
	if Systemd(clocktesting.NewFakeClock(time.Now()), logr.Discard()) != nil {
		t.Error("feeds a watchdog that the unit does not have")
	}
	// A datagram of our own marks the end of what was sent.
	end, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for buf := make([]byte, 100); len(got) == 0 || got[len(got)-1] != "end"; {
		n, err := socket.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(buf[:n]))
	}
	if !slices.Equal(got, []string{"READY=1", "end"}) {
		t.Errorf("told systemd %q", got)
	}
}

// G12: the watchdog is fed for as long as the control plane answers, at half its limit.
func TestWatchdogStarvesWithTheControlPlane(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	asked, fed := make(chan struct{}), make(chan struct{}, 10)
	answer := make(chan bool)
	done := make(chan struct{})
	go func() {
		defer close(done)
		feed(ctx, clk, 20*time.Second, func() bool { asked <- struct{}{}; return <-answer }, func() { fed <- struct{}{} })
	}()
	for _, healthy := range []bool{true, false, true} {
		<-asked
		answer <- healthy
		if healthy {
			<-fed
		}
		clk.Step(10 * time.Second)
	}
	<-asked
	cancel()
	answer <- false
	<-done
	if len(fed) != 0 {
		t.Error("fed while the control plane did not answer")
	}
}

// TestTakeWaitsForTheDead: a lock that nobody can be named for is a process that was killed a moment ago.
func TestTakeWaitsForTheDead(t *testing.T) {
	d := datadir.Dir(t.TempDir())
	held := host.TryLock(d.UpLock())
	if held.Outcome != host.Acquired {
		t.Fatal(held.Err)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		if err := held.Lock.Release(); err != nil {
			t.Error(err)
		}
	})
	lock, _, err := Take(d, time.Now())
	if err != nil {
		t.Fatalf("Take while the lock is let go: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
}
