package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"hermes.dev/hermes/controllers/engine"
	"hermes.dev/hermes/runtime/host"
)

// startWhenDue starts the gateway once nothing speaks against it, or waits for that.
func (s *supervisor) startWhenDue(ctx context.Context, want wanted) {
	if s.refusalStands(want) {
		s.publish(view{Phase: phaseStalled})
		s.awaitCure(ctx, want)
		return
	}
	if pause := s.intent.Seen.NextAttempt.Sub(s.now()); pause > 0 {
		s.publish(view{Phase: phaseBackoff})
		s.sleep(ctx, pause)
		return
	}
	if answer, err := s.client(want.Workload.Home).Identify(ctx); err == nil {
		if !s.adoptLost(want, answer) {
			s.awaitForeign(ctx, answer)
		}
		return
	}
	if owner, found := s.hostOwner(ctx, want.Workload.Home); found {
		s.awaitForeign(ctx, owner)
		return
	}
	if ctx.Err() != nil {
		return
	}
	if s.eng.gate.full() {
		s.publish(view{Phase: phaseQueued})
	}
	release := s.eng.gate.enter(ctx, s.wake)
	if release == nil {
		return
	}
	s.releaseSlot = release
	if err := s.start(want.Workload, want.Settings); err != nil {
		s.releaseSlot()
		s.trouble(ctx, err)
	}
}

// refusalStands reports whether the last run refused exactly what is wanted now.
func (s *supervisor) refusalStands(want wanted) bool {
	e := s.intent.Seen.LastExit
	return e != nil && e.Class == exitConfiguration &&
		e.Settings.equal(want.Settings) && e.RestartToken == want.Workload.RestartToken && e.Revision == s.eng.opts.Revision()
}

// awaitForeign waits for somebody else's gateway to leave the home. It is
// neither stopped nor doubled.
func (s *supervisor) awaitForeign(ctx context.Context, owner host.Identity) {
	s.publish(view{Phase: phaseForeign, Foreign: owner})
	var left <-chan struct{}
	if h, err := openHandle(owner.Process()); err == nil {
		defer h.close()
		left = h.ended()
	}
	timer := s.eng.opts.Clock.NewTimer(s.eng.opts.PingInterval)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C():
	case <-s.wake:
	case <-ctx.Done():
	}
}

// Points of a start at which the death of this process must be survived.
const (
	hookIntended = "intent-written"
	hookSpawned  = "spawned"
	hookRecorded = "recorded"
)

// start spawns the gateway: the intent is durable before the process exists, and
// its identity is durable right after. Implements guarantee G3.
func (s *supervisor) start(w engine.Workload, want settings) error {
	opts := s.eng.opts
	if e := s.intent.Seen.LastExit; e != nil {
		s.intent.Seen.Restarts++
	}
	logDir := s.logDir(w)
	r := &run{
		ID: newRunID(), State: spawnIntended, StartedAt: s.now(), Home: w.Home,
		Settings: want, RestartToken: w.RestartToken, Revision: opts.Revision(),
	}
	r.LogFile = runLogPath(logDir, r.ID)
	s.confine(r, w)
	s.wantsLog(r.LogFile)
	s.intent.Seen.Run, s.intent.Seen.NextAttempt = r, noTime
	s.identity, s.ready, s.missed = host.Identity{}, false, 0
	if err := s.save(); err != nil {
		s.abandon(r)
		return err
	}
	opts.hook(hookIntended)
	s.oomBase = s.eng.opts.oomKills()
	if err := s.spawn(w, r, logDir); err != nil {
		if err := (tree{RunID: r.ID, Cgroup: r.Cgroup}).kill(context.Background(), opts.Clock); err != nil {
			s.log.Error(err, "end a gateway that could not be held")
		}
		s.abandon(r)
		return err
	}
	s.heldSince = s.now()
	opts.hook(hookSpawned)
	s.recordIdentity(r, s.proc.id)
	if err := s.save(); err != nil {
		// The gateway runs and is found by its run id, so this is worth a line and no more.
		s.log.Error(err, "record the started gateway")
	}
	opts.hook(hookRecorded)
	s.log.Info("started a gateway", "pid", r.PID, "run", r.ID, "log", r.LogFile)
	return nil
}

// abandon forgets a run that never came to be.
func (s *supervisor) abandon(r *run) {
	removeCgroup(r.Cgroup)
	s.intent.Seen.Run = nil
	if err := s.save(); err != nil {
		s.log.Error(err, "record that a start did not happen")
	}
}

// spawn creates the process in its own session and process group, with nothing
// inherited but its log and a built environment.
func (s *supervisor) spawn(w engine.Workload, r *run, logDir string) (err error) {
	out, err := openRunLog(r.LogFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	command := func() *exec.Cmd {
		cmd := exec.Command(s.eng.opts.Binary, gatewayArgs(w, s.eng.opts.Kubeconfig, r.ID, logDir)...)
		cmd.Env = gatewayEnv(s.eng.opts.BaseEnv, w, r.ID)
		cmd.Dir = "/"
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd
	}
	pid, err := s.launch(command(), r)
	if err != nil && r.Cgroup != "" {
		s.log.Error(err, "start the gateway in its cgroup; starting it without")
		removeCgroup(r.Cgroup)
		r.Cgroup, r.Confinement = "", softConfinement(w.MemoryLimit)
		pid, err = s.launch(command(), r)
	}
	if err != nil {
		return err
	}
	// The pid cannot be recycled: nobody collects the child but this supervisor, through the handle.
	s.proc, err = openHandle(host.ProcessID{PID: pid, StartTime: host.Observe(pid).StartTime})
	if err != nil {
		s.eng.reaper.forget(pid)
		return fmt.Errorf("hold the started gateway: %w", err)
	}
	return nil
}

// launch forks the command, directly into the run's cgroup when it has one.
func (s *supervisor) launch(cmd *exec.Cmd, r *run) (pid int, err error) {
	if r.Cgroup != "" {
		group, err := os.Open(r.Cgroup)
		if err != nil {
			return 0, fmt.Errorf("open the gateway's cgroup: %w", err)
		}
		defer group.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd())
	}
	err = s.eng.reaper.own(r.ID, func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, fmt.Errorf("start the gateway: %w", err)
		}
		pid = cmd.Process.Pid
		return pid, cmd.Process.Release()
	})
	return pid, err
}

// confine prepares the run's limits and says in words what they are. Implements G10.
func (s *supervisor) confine(r *run, w engine.Workload) {
	var l limits
	if parent := s.eng.opts.CgroupParent; parent != "" {
		l = limitsFor(parent, w.MemoryLimit)
		var err error
		if r.Cgroup, err = makeCgroup(parent, "gateway-"+w.Namespace+"-"+w.Name+"-"+r.ID, l); err != nil {
			s.log.Error(err, "limit the gateway by cgroup")
			l = limits{}
		}
	}
	r.Confinement = confinement(l, w.MemoryLimit)
}

// confinement says which limits hold for the whole tree, and that a declared memory limit in bytes does not.
func confinement(l limits, memory int64) string {
	var words []string
	switch {
	case memory == 0:
	case l.Memory > 0:
		words = append(words, fmt.Sprintf("memory limit %d MiB for the whole tree (cgroup)", memory>>20))
	default:
		words = append(words, softConfinement(memory))
	}
	if l.Tasks > 0 {
		words = append(words, fmt.Sprintf("at most %d tasks", l.Tasks))
	}
	if l.CPUWeight > 0 {
		words = append(words, fmt.Sprintf("CPU weight %d", l.CPUWeight))
	}
	return strings.Join(words, ", ")
}

// softConfinement says that a limit in bytes is only the process's own aim; "" without a limit.
func softConfinement(limit int64) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("memory limit %d MiB is soft (GOMEMLIMIT only: no delegated cgroup v2 with a memory controller)", limit>>20)
}

// logDir of a workload: what it names, or a directory of the engine's own.
func (s *supervisor) logDir(w engine.Workload) string {
	if w.LogDir != "" {
		return w.LogDir
	}
	dir := filepath.Join(s.eng.store.workloadDir(s.ref), "logs")
	if len(s.intent.Seen.Logs) == 0 {
		s.intent.Seen.Logs = findRunLogs(dir)
	}
	return dir
}

// newRunID is 80 random bits: unique over all runs of all machines that share a log directory.
func newRunID() string { return strings.ToLower(rand.Text()[:16]) }
