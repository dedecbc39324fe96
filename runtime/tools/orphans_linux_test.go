package tools

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// G9, the decision: only what shows no sign of an owner has escaped, and what two calls may have started is left to the last.
func TestG9Escaped(t *testing.T) {
	for name, tt := range map[string]struct {
		sight sight
		want  bool
	}{
		"nothing speaks for an owner":           {sight{}, true},
		"our own session":                       {sight{OwnSession: true}, false},
		"somebody waits for it":                 {sight{Held: true}, false},
		"kin of something started on purpose":   {sight{Kin: true}, false},
		"another running call may have begun":   {sight{Contested: true}, false},
		"everything speaks for an owner":        {sight{true, true, true, true}, false},
		"contested and kin, as in another call": {sight{Kin: true, Contested: true}, false},
	} {
		if got := tt.sight.escaped(); got != tt.want {
			t.Errorf("%s: escaped = %v", name, got)
		}
	}
}

// collector makes this process a collector for one test.
func collector(t testing.TB) *Orphans {
	t.Helper()
	o, err := NewOrphans()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	})
	return o
}

// escape starts a daemon that leaves nothing to find it by, and goes on once its pid is in $P.
const escape = `env -i P=$P PATH=$PATH setsid sh -c 'setsid sh -c "echo \$\$ > $P; exec sleep 1000" </dev/null >/dev/null 2>&1 &' </dev/null >/dev/null 2>&1; while ! [ -s $P ]; do :; done; `

// G9: a daemon that forked twice, left the session, cleared its environment and closed its output ends with its call.
func TestG9EscapedDaemonEndsWithItsCall(t *testing.T) {
	o := collector(t)
	s := newTestSet(t, func(c *Config) { c.Orphans = o })
	pidFile := filepath.Join(t.TempDir(), "pid")
	got := must(t, s, "terminal", sh("P="+pidFile+"; export P; "+escape+"echo done"))
	if !strings.HasPrefix(got, "done\n[exit code 0]\n[") || !strings.HasSuffix(got, "background processes were ended]") {
		t.Errorf("result = %q", got)
	}
	if err := gone(awaitPid(t, pidFile)); err != nil {
		t.Error(err)
	}
}

// G9: while another call runs that may have started it, an escaped daemon is left alone; the last call ends it.
func TestG9ContestedDaemonIsLeftToTheLastCall(t *testing.T) {
	o := collector(t)
	s := newTestSet(t, func(c *Config) { c.Orphans = o })
	ctx, cancel := context.WithCancel(t.Context())
	_, other := start(t, ctx, s, `echo $$ > $P; exec sleep 1000`)
	pidFile := filepath.Join(t.TempDir(), "pid")
	must(t, s, "terminal", sh("P="+pidFile+"; export P; "+escape))
	daemon := awaitPid(t, pidFile)
	if gone(daemon) == nil {
		t.Error("ended although a call that still runs may have started it")
	}
	cancel()
	<-other
	if err := gone(daemon); err != nil {
		t.Error(err)
	}
}

// G9: what was started on purpose outlives the calls around it: a child package os holds, its orphaned session
// member, and whatever was claimed.
func TestG9WhatIsKeptOutlivesCalls(t *testing.T) {
	o := collector(t)
	s := newTestSet(t, func(c *Config) { c.Orphans = o })
	dir := t.TempDir()
	_, call := start(t, t.Context(), s, `echo $$ > $P; while ! [ -e `+dir+`/go ]; do sleep 0.01; done`)
	pidOf := func(name string) int { return awaitPid(t, filepath.Join(dir, name)) }

	// A child in a session of its own whose grandchild is an orphan in that session.
	held := exec.Command("/bin/sh", "-c", "sh -c 'sh -c \"echo \\$\\$ > kin; exec sleep 1000\" &'; echo $$ > held; exec sleep 1000")
	held.Dir, held.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
	if err := held.Start(); err != nil {
		t.Fatal(err)
	}
	// Daemons without any sign, claimed by number and start, and by marker.
	stray := func(name, environ string) int {
		c := exec.Command("/bin/sh", "-c", `env -i PATH=$PATH `+environ+` setsid sh -c 'setsid sh -c "echo \$\$ > `+name+`; exec sleep 1000" &' </dev/null >/dev/null 2>&1`)
		c.Dir = dir
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		return pidOf(name)
	}
	numbered, marked, unclaimed := stray("numbered", ""), stray("marked", "MARK=1"), stray("unclaimed", "")
	keep := []int{pidOf("held"), pidOf("kin"), numbered, marked}
	t.Cleanup(func() {
		for _, pid := range append(keep, unclaimed) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = held.Wait()
	})
	p, err := readProcess(numbered)
	if err != nil {
		t.Fatal(err)
	}
	release := o.Keep(Claim{PID: numbered, Start: p.start})
	defer o.Keep(Claim{Marker: "MARK=1"})()
	// A claim of a number that another process has by now protects nobody.
	defer o.Keep(Claim{PID: unclaimed, Start: p.start - 1_000_000})()

	// The call is older than all of them, so its end judges them.
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-call
	for _, pid := range keep {
		if gone(pid) == nil {
			t.Errorf("process %d was started on purpose and is gone", pid)
		}
	}
	if err := gone(unclaimed); err != nil {
		t.Error(err)
	}
	release()
	must(t, s, "terminal", sh("true")) // younger than the daemon: not its business
	if gone(numbered) == nil {
		t.Error("a call ended what is older than itself")
	}
}

// G9: orphans that end by themselves leave no zombie, and the status of a child goes to whoever waits for it.
func TestG9CollectsWithoutStealing(t *testing.T) {
	o := collector(t)
	s := newTestSet(t, func(c *Config) { c.Orphans = o })
	for range 20 {
		c := exec.Command("/bin/sh", "-c", "(setsid true &) ; exit 7")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err := c.Run()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != 7 {
			t.Fatalf("status of a child: %v, %v", c.ProcessState, err)
		}
		if got := must(t, s, "terminal", sh("(setsid true &) ; exit 3")); !strings.HasPrefix(got, "[exit code 3]") {
			t.Fatalf("result = %q", got)
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for zombies() > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d zombies stay", zombies())
		}
		runtime.Gosched()
	}
}

func zombies() (n int) {
	for _, p := range processes(0) {
		if p.parent == os.Getpid() && p.state == 'Z' {
			n++
		}
	}
	return n
}

// G9: when a gateway stops, nothing outlives it, kept or not.
func TestG9NothingOutlivesTheGateway(t *testing.T) {
	dir := t.TempDir()
	self := exec.Command("/proc/self/exe", "gateway-with-daemons", dir)
	in, err := self.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := self.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	self.Stderr = os.Stderr
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = self.Process.Kill(); _ = self.Wait() })
	lines := bufio.NewScanner(out)
	var daemons []int
	for len(daemons) < 2 && lines.Scan() {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		if gone(pid) == nil {
			t.Fatalf("process %d does not run", pid)
		}
		daemons = append(daemons, pid)
	}
	_ = in.Close()
	if !lines.Scan() || lines.Text() != "ended 2, left 0" {
		t.Errorf("EndAll: %q", lines.Text())
	}
	for _, pid := range daemons {
		if err := gone(pid); err != nil {
			t.Error(err)
		}
	}
}

// gatewayWithDaemons is a process with a kept child and an escaped daemon, which ends both once its input closes.
func gatewayWithDaemons(dir string) error {
	o, err := NewOrphans()
	if err != nil {
		return err
	}
	kept := exec.Command("sleep", "1000")
	kept.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := kept.Start(); err != nil {
		return err
	}
	p, err := readProcess(kept.Process.Pid)
	if err != nil {
		return err
	}
	defer o.Keep(Claim{PID: p.pid, Start: p.start})()
	pidFile := filepath.Join(dir, "pid")
	daemon := exec.Command("/bin/sh", "-c", "P="+pidFile+"; export P; "+escape)
	if err := daemon.Run(); err != nil {
		return err
	}
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		return err
	}
	fmt.Printf("%d\n%s", kept.Process.Pid, raw)
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	killed, left := o.EndAll()
	fmt.Printf("ended %d, left %d\n", killed, left)
	return nil
}
