package orphan

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// G9: a child that somebody waits for is held, the orphan of one is not, and both are children.
func TestG9OrphansAreTheChildrenThatNobodyHolds(t *testing.T) {
	if err := Adopt(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	if err := Probe(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/bin/sh", "-c", "env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	stray, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer Collect(stray)
	defer func() { _ = syscall.Kill(stray, syscall.SIGKILL) }()
	child := exec.Command("sleep", "1000")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	held, children := Held(), Children()
	if !held[child.Process.Pid] || held[stray] {
		t.Errorf("held = %v, want the child %d and not the orphan %d", held, child.Process.Pid, stray)
	}
	if !slices.Contains(children, child.Process.Pid) || !slices.Contains(children, stray) {
		t.Errorf("children = %v, want %d and %d", children, child.Process.Pid, stray)
	}
	// A child that ended stays held until it was waited for.
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if !Held()[child.Process.Pid] {
		t.Error("a zombie that somebody will wait for is not held")
	}
	if err := child.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the status of the child: %v", err)
	}
	if Held()[child.Process.Pid] {
		t.Error("a child that was waited for is held")
	}
}

func TestCollectTakesOnlyWhatItIsTold(t *testing.T) {
	other := exec.Command("true")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	stray, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 3"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, stray, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	Collect(stray)
	if _, err := os.Stat("/proc/" + strconv.Itoa(stray)); err == nil {
		t.Error("the zombie is still there")
	}
	Collect(os.Getpid()) // no child: nothing happens, at once
	done := make(chan error, 1)
	go func() { done <- other.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the other child's status: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the other child's status was taken")
	}
}

func TestInfoPID(t *testing.T) {
	for info, want := range map[string]int{
		"pos:\t0\nflags:\t02000002\nPid:\t42\nNSpid:\t42\n": 42, "Pid:\t-1\n": 0, "pos:\t0\n": 0, "Pid:\tx\n": 0, "": 0,
	} {
		if got, ok := infoPID([]byte(info)); got != want && ok || ok != (want > 0) {
			t.Errorf("%q = %d, %v, want %d", info, got, ok, want)
		}
	}
}
