//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"

	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

// Modes of the fake gateway, comma-separated in FAKE.
const (
	modeCrash       = "crash"       // ends with a panic right after it is ready
	modeCrashEarly  = "crash-early" // ends with exit code 3 before it answers
	modeRefuse      = "refuse"      // exit 78 with a refusal line unless <home>/welcome exists
	modeRefuseMute  = "refuse-mute" // exit 78 without one
	modeLater       = "later"       // exit 75
	modeIgnoreTerm  = "ignore-term"
	modeSilent      = "silent"     // never opens a socket
	modeGrandchild  = "grandchild" // leaves a child in a session of its own
	modeStripped    = "stripped"   // leaves a child in its session, without environment
	modeHog         = "hog"        // runs out of memory
	modeWork        = "work"       // has work in flight while <home>/work exists
	modeSlow        = "slow"       // becomes ready once <home>/go exists
	modeEscaped     = "escaped"    // collects its orphans, and has one that nothing else shows to be its own
	modeOrphan      = "orphan"     // starts a process that starts another one and ends
	fakeRevisionVar = "FAKE_REVISION"
)

type fake struct {
	home, runID string
	modes       []string
	mute        atomic.Bool
}

func (f *fake) Identify() host.Identity {
	f.block()
	seen := host.Observe(os.Getpid())
	return host.Identity{
		PID: os.Getpid(), StartTime: seen.StartTime, HermesHome: f.home, RunID: f.runID, APISocket: filepath.Join(f.home, "api.sock"),
		CodeIdentity: host.CodeIdentity{Revision: os.Getenv(fakeRevisionVar)},
	}
}

// block makes a muted gateway hang in its handler for good.
func (f *fake) block() {
	if f.mute.Load() {
		select {}
	}
}

func (f *fake) Status() host.Status {
	f.block()
	if f.has(modeEscaped) {
		f.note("asked")
	}
	return host.Status{}
}

func (f *fake) Rescan(context.Context) host.Rescan { return host.Rescan{} }

func (f *fake) Drain(context.Context) host.DrainState {
	f.block()
	state := host.DrainState{Draining: true, PID: os.Getpid()}
	f.note("drained")
	if f.has(modeWork) && exists(filepath.Join(f.home, "work")) {
		state.ActiveWork = 2
	}
	return state
}

func (f *fake) has(mode string) bool {
	for _, m := range f.modes {
		if m == mode {
			return true
		}
	}
	return false
}

// note appends a line to <home>/notes: what happened, in which process.
func (f *fake) note(what string) {
	path := filepath.Join(f.home, "notes")
	if shared := os.Getenv("FAKE_NOTES"); shared != "" {
		path = shared
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(file, "%s %d\n", what, os.Getpid())
		_ = file.Close()
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// fakeGateway is the process under supervision.
func fakeGateway(argv []string) {
	f := &fake{modes: strings.Split(os.Getenv("FAKE"), ",")}
	f.home, _ = flagValue(argv, "--home")
	f.runID, _ = flagValue(argv, "--run-id")
	if err := os.MkdirAll(f.home, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	f.note("started")
	fmt.Fprintln(os.Stderr, "fake gateway", f.runID)
	f.endEarly()
	claim := host.ClaimHome(f.home, host.NewPIDRecord(f.home, argv), logr.Discard())
	if claim.Outcome != host.Acquired {
		f.note("lost-the-lock")
		fmt.Fprintln(os.Stderr, "hermes-refusal: HostOwnedElsewhere: another gateway holds", f.home)
		os.Exit(75)
	}
	_ = os.WriteFile(filepath.Join(f.home, "environ"), []byte(strings.Join(os.Environ(), "\n")), 0o600)
	f.family()
	f.serve(signals)
	_ = claim.Claim.Release()
}

// endEarly ends modes that never become ready.
func (f *fake) endEarly() {
	switch {
	case f.has(modeCrashEarly):
		fmt.Fprintln(os.Stderr, "cannot find the frobnicator")
		os.Exit(3)
	case f.has(modeRefuse) && !exists(filepath.Join(f.home, "welcome")):
		_ = os.WriteFile(filepath.Join(f.home, "SOUL.md"), nil, 0o600) // what makes it somebody's
		fmt.Fprintln(os.Stderr, "hermes-refusal: HomeNotOurs: "+f.home+" holds somebody's home")
		os.Exit(78)
	case f.has(modeRefuseMute):
		fmt.Fprintln(os.Stderr, "no such model")
		os.Exit(78)
	case f.has(modeLater):
		os.Exit(75)
	case f.has(modeHog):
		_ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		hold := make([]byte, 8<<30)
		hold[len(hold)-1] = 1
		fmt.Fprintln(os.Stderr, len(hold))
	}
}

// family starts what the mode asks for.
func (f *fake) family() {
	sleeper := func(env []string, own bool) {
		cmd := exec.Command("/proc/self/exe", "sleeper")
		cmd.Env = env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: own}
		if err := cmd.Start(); err == nil {
			_ = os.WriteFile(filepath.Join(f.home, "grandchild"), fmt.Appendf(nil, "%d", cmd.Process.Pid), 0o600)
		}
	}
	switch {
	case f.has(modeGrandchild):
		sleeper(os.Environ(), true)
	case f.has(modeStripped):
		sleeper([]string{}, false)
	case f.has(modeEscaped):
		if err := orphan.Adopt(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = exec.Command("/bin/sh", "-c", `env -i PATH=$PATH setsid sh -c 'setsid sh -c "echo -n \$\$ > $0.new; mv $0.new $0; exec sleep 1000" </dev/null >/dev/null 2>&1 &' `+filepath.Join(f.home, "grandchild")).Run()
	case f.has(modeOrphan):
		// The shell ends at once; its child is orphaned and ends too.
		_ = exec.Command("/bin/sh", "-c", "(setsid true; true) & exec true").Run()
		_ = exec.Command("/bin/sh", "-c", "true & exec true").Run()
	}
}

// serve answers until a signal ends it. SIGUSR1 crashes, SIGUSR2 mutes.
func (f *fake) serve(signals <-chan os.Signal) {
	for f.has(modeSlow) && !exists(filepath.Join(f.home, "go")) {
		select {
		case <-signals:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
	if !f.has(modeSilent) {
		f.note("answering") // before it can be seen to answer
		server, err := host.Serve(host.ServerConfig{Home: f.home, TempDir: os.TempDir(), Handler: f, Log: logr.Discard()})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		f.note("ready")
		defer server.Close()
	}
	if f.has(modeCrash) {
		panic("the moon is full")
	}
	for sig := range signals {
		switch sig {
		case syscall.SIGUSR1:
			fmt.Fprintln(os.Stderr, "told to crash")
			os.Exit(9)
		case syscall.SIGUSR2:
			f.mute.Store(true)
			f.note("muted")
		default:
			f.note("terminated")
			if f.mute.Load() {
				os.Exit(0) // closing the server would wait for its hanging handlers
			}
			if !f.has(modeIgnoreTerm) {
				return
			}
		}
	}
}
