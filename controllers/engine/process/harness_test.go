//go:build linux

package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

const patience = 30 * time.Second

// obs keeps conditions on one line.
type obs = engine.Observation

// world is one engine directory, one home and what runs in them.
type world struct {
	t    testing.TB
	opts Options
	home string
	ref  engine.Ref
}

func newWorld(t testing.TB) *world {
	t.Helper()
	// Sockets have short paths.
	dir, err := os.MkdirTemp("/tmp", "hgw")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, home: filepath.Join(dir, "home"), ref: engine.Ref{Namespace: "ns", Name: "gw"},
		opts: Options{
			Binary: binary, Dir: filepath.Join(dir, "engine"), Kubeconfig: filepath.Join(dir, "kubeconfig"),
			BaseEnv: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, Clock: clock.RealClock{},
			PingInterval: 50 * time.Millisecond, jitter: func() float64 { return 0 },
		},
	}
	t.Cleanup(func() {
		w.killLeftovers()
		_ = os.RemoveAll(dir)
	})
	return w
}

// killLeftovers ends every gateway of this world's home, whatever the test left.
func (w *world) killLeftovers() {
	for _, p := range listProcesses() {
		if value, _ := flagValue(commandLine(p.PID), "--home"); value == w.home {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
			orphan.Collect(p.PID)
		}
	}
}

func (w *world) workload(modes ...string) engine.Workload {
	return engine.Workload{
		Ref: w.ref, UID: types.UID("uid-1"), Home: w.home, DrainTimeout: time.Second, AutoUpdate: true,
		Env: []string{"FAKE=" + strings.Join(modes, ",")},
	}
}

// engine opens the engine of the world and closes it with the test.
func (w *world) engine() *Engine {
	w.t.Helper()
	e, err := New(w.opts)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := e.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return e
}

func (w *world) ensure(e *Engine, load engine.Workload) engine.Observation {
	w.t.Helper()
	o, err := e.Ensure(context.Background(), load)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// awaitObservation waits until the workload's observation satisfies ok.
func (w *world) awaitObservation(e *Engine, load engine.Workload, what string, ok func(engine.Observation) bool) engine.Observation {
	w.t.Helper()
	var last engine.Observation
	await(w.t, what, func() bool { last = w.ensure(e, load); return ok(last) }, func() string { return fmt.Sprintf("%+v", last) })
	return last
}

func (w *world) awaitRunning(e *Engine, load engine.Workload) engine.Observation {
	w.t.Helper()
	return w.awaitObservation(e, load, "the gateway to run", func(o engine.Observation) bool { return o.Running })
}

func (w *world) awaitReason(e *Engine, load engine.Workload, reason string) engine.Observation {
	w.t.Helper()
	return w.awaitObservation(e, load, "reason "+reason, func(o engine.Observation) bool { return o.Reason == reason })
}

// stop stops the workload and waits until it is gone.
func (w *world) stop(e *Engine) {
	w.t.Helper()
	var last engine.Observation
	await(w.t, "the gateway to be gone", func() bool {
		o, gone, err := e.Stop(context.Background(), w.ref)
		if err != nil {
			w.t.Fatal(err)
		}
		last = o
		return gone
	}, func() string { return fmt.Sprintf("%+v", last) })
}

// notes counts what gateways wrote down under a name.
func (w *world) notes(what string) int {
	data, _ := os.ReadFile(filepath.Join(w.home, "notes"))
	return strings.Count(string(data), what+" ")
}

func (w *world) readIntent() intent {
	w.t.Helper()
	in, _, err := intentStore{dir: w.opts.Dir}.load(w.ref)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// intentTime is when the intent was last written.
func (w *world) intentTime() time.Time {
	w.t.Helper()
	info, err := os.Stat(filepath.Join(w.opts.Dir, w.ref.Namespace, w.ref.Name, intentFileName))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.ModTime()
}

// touch makes a file in the home.
func (w *world) touch(name string) {
	w.t.Helper()
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, name), nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(name string) {
	w.t.Helper()
	if err := os.Remove(filepath.Join(w.home, name)); err != nil {
		w.t.Fatal(err)
	}
}

// pidIn reads a pid a gateway wrote into its home, once it is there.
func (w *world) pidIn(name string) int {
	w.t.Helper()
	var pid int
	await(w.t, name, func() bool {
		data, _ := os.ReadFile(filepath.Join(w.home, name))
		pid, _ = strconv.Atoi(string(data))
		return pid > 0
	}, nil)
	return pid
}

// await polls a condition that no channel announces.
func await(t testing.TB, what string, ok func() bool, state func() string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			if state != nil {
				what += ": " + state()
			}
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// alive reports whether a pid runs (a zombie does not).
func alive(pid int) bool { return host.Observe(pid).State == host.Alive }

// zombies lists zombie children of this process.
func zombies() (found []procEntry) {
	for _, p := range listProcesses() {
		if p.PPID == os.Getpid() && p.Zombie {
			found = append(found, p)
		}
	}
	return found
}

// superviseOrder is what a supervisor process does; it arrives as JSON on stdin.
type superviseOrder struct {
	Options  map[string]string
	Workload engine.Workload
	// DieAt is the point at which the process kills itself, "" for never.
	DieAt string
}

// superviseMain is an operator: it ensures one workload and prints each observation as a line.
func superviseMain() {
	var order superviseOrder
	if err := json.NewDecoder(os.Stdin).Decode(&order); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	e, err := New(Options{
		Binary: order.Options["binary"], Dir: order.Options["dir"], Kubeconfig: order.Options["kubeconfig"],
		PingInterval: 50 * time.Millisecond,
		hook: func(point string) {
			if point == order.DieAt {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := json.NewEncoder(os.Stdout)
	for {
		o, err := e.Ensure(context.Background(), order.Workload)
		if err != nil || out.Encode(o) != nil {
			os.Exit(2)
		}
		<-e.Changes()
	}
}

// operator is a supervisor process.
type operator struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startOperator starts a supervisor process for a workload.
func (w *world) startOperator(load engine.Workload, dieAt string) *operator {
	w.t.Helper()
	order, err := json.Marshal(superviseOrder{
		Options:  map[string]string{"binary": w.opts.Binary, "dir": w.opts.Dir, "kubeconfig": w.opts.Kubeconfig},
		Workload: load, DieAt: dieAt,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(w.opts.Binary, "supervise")
	cmd.Stdin = strings.NewReader(string(order))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &operator{cmd: cmd, lines: bufio.NewScanner(out)}
}

// awaitRunning reads observations until the gateway runs.
func (o *operator) awaitRunning(t *testing.T) engine.Observation {
	t.Helper()
	for o.lines.Scan() {
		var seen engine.Observation
		if err := json.Unmarshal(o.lines.Bytes(), &seen); err != nil {
			t.Fatal(err)
		}
		if seen.Running {
			return seen
		}
	}
	t.Fatal("the operator ended before the gateway ran")
	return engine.Observation{}
}

// kill ends the operator with SIGKILL and waits for that.
func (o *operator) kill() { _ = o.cmd.Process.Kill(); _ = o.cmd.Wait() }
