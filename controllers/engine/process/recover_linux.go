package process

import (
	"context"
	"slices"

	"hermes.dev/hermes/runtime/host"
)

// recover reads what an earlier engine remembered and takes a running gateway
// over, whatever the point at which that engine ended. Implements G1 and G3.
func (s *supervisor) recover(ctx context.Context) {
	in, found, err := s.eng.store.load(s.ref)
	if err != nil {
		s.log.Error(err, "read what is remembered; asking the home instead")
	}
	if found {
		s.intent = in
		s.intent.Seen.NextAttempt = trustedAttempt(in.Seen.NextAttempt, s.now())
	}
	r := s.intent.Seen.Run
	if r == nil {
		s.recoverUnrecorded(ctx)
		return
	}
	id, ok := s.locate(ctx, r)
	if ok && s.hold(r, id) {
		s.confirm(ctx)
		return
	}
	s.buryRun(ctx, r)
}

// locate finds the process of a remembered run.
func (s *supervisor) locate(ctx context.Context, r *run) (host.ProcessID, bool) {
	answer, err := s.client(r.Home).Identify(ctx)
	answered := err == nil && answer.RunID == r.ID
	if r.State == spawnIntended {
		if answered && host.ProcessLiveness(answer.Process()) == host.Alive {
			return answer.Process(), true
		}
		return findByRunID(r.ID)
	}
	id := host.ProcessID{PID: r.PID, StartTime: r.StartTime}
	now := host.Observe(r.PID)
	e := evidence{
		Process:  host.JudgeProcess(id, now),
		SameExe:  executable(r.PID) == r.Exe,
		Marked:   isMarked(r.PID, r.ID),
		Answered: answered && answer.PID == r.PID,
	}
	if now.BootID != r.BootID {
		e.Process = host.Dead
	}
	return id, mayAdopt(e)
}

// isMarked reports whether a process carries the run id in its environment or on its command line.
func isMarked(pid int, runID string) bool {
	if hasRunID(pid, runID) {
		return true
	}
	value, _ := flagValue(commandLine(pid), "--run-id")
	return value == runID
}

// findByRunID finds the gateway of a run whose pid was never recorded. What the
// gateway started carries the same mark, so the command line must be a
// gateway's too.
func findByRunID(runID string) (host.ProcessID, bool) {
	for _, p := range listProcesses() {
		if p.Zombie || !hasRunID(p.PID, runID) {
			continue
		}
		argv := commandLine(p.PID)
		if value, _ := flagValue(argv, "--run-id"); value == runID && slices.Contains(argv, "gateway") {
			return p.id(), true
		}
	}
	return host.ProcessID{}, false
}

// hold takes a located process over and records its identity where it was not.
func (s *supervisor) hold(r *run, id host.ProcessID) bool {
	h, err := openHandle(id)
	if err != nil {
		s.log.Info("a remembered gateway ended while it was taken over", "pid", id.PID, "reason", err.Error())
		return false
	}
	s.proc = h
	s.eng.reaper.hold(id.PID, r.ID)
	s.oomBase, s.heldSince = s.eng.opts.oomKills(), s.now()
	r.ReadyAt = trustedReady(r.ReadyAt, s.heldSince, ticksNow()-id.StartTime)
	if r.State != spawnRecorded {
		s.recordIdentity(r, id)
		if err := s.save(); err != nil {
			s.log.Error(err, "record an adopted gateway")
		}
	}
	s.log.Info("adopted a running gateway", "pid", id.PID, "run", r.ID)
	return true
}

// recordIdentity writes down which process a run is.
func (s *supervisor) recordIdentity(r *run, id host.ProcessID) {
	r.State = spawnRecorded
	r.PID, r.StartTime = id.PID, id.StartTime
	r.BootID = host.Observe(id.PID).BootID
	r.Exe = executable(id.PID)
}

// confirm asks an adopted gateway once, so that one that answers is running at once and not starting.
func (s *supervisor) confirm(ctx context.Context) {
	answer, err := s.client(s.intent.Seen.Run.Home).Identify(ctx)
	if err == nil && s.proves(answer) {
		s.becomeReady(answer)
	}
}

// proves reports whether an answer comes from the process of the current run.
func (s *supervisor) proves(answer host.Identity) bool {
	r := s.intent.Seen.Run
	return answer.RunID == r.ID && answer.PID == r.PID
}

// recoverUnrecorded looks for a gateway of this workload that nothing is remembered of.
func (s *supervisor) recoverUnrecorded(ctx context.Context) {
	want := s.wanted()
	if want.State != desiredRunning {
		return
	}
	if answer, err := s.client(want.Workload.Home).Identify(ctx); err == nil {
		s.adoptLost(want, answer)
	}
}

// adoptLost takes over a gateway that answers on the home and was started by an
// earlier engine for this very workload, although its intent is lost (a damaged
// disk, or a crash in the instant between fork and exec). What it was started
// with is unknown, so it is not current.
func (s *supervisor) adoptLost(want wanted, answer host.Identity) bool {
	if answer.RunID == "" || !hasRunID(answer.PID, answer.RunID) ||
		!isGatewayOf(commandLine(answer.PID), s.ref, s.eng.opts.Kubeconfig) {
		return false
	}
	logDir, _ := flagValue(commandLine(answer.PID), "--log-dir")
	r := &run{
		ID: answer.RunID, State: spawnIntended, StartedAt: s.now(), Home: want.Workload.Home,
		LogFile: runLogPath(logDir, answer.RunID), RestartToken: want.Workload.RestartToken,
		Settings: settings{"uid": want.Settings["uid"]},
	}
	if !s.hold(r, answer.Process()) {
		return false
	}
	s.intent.Seen.Run = r
	s.becomeReady(answer)
	return true
}

// buryRun settles a run that ended while no engine looked: what is left of its
// tree ends, and its end is recorded as far as it can be told.
func (s *supervisor) buryRun(ctx context.Context, r *run) {
	rest := tree{RunID: r.ID, Cgroup: r.Cgroup}
	if err := rest.kill(ctx, s.eng.opts.Clock); err != nil {
		s.log.Error(err, "end what a gateway left behind", "run", r.ID)
	}
	oom := cgroupOOMKills(r.Cgroup) > 0
	removeCgroup(r.Cgroup)
	words := readLastWords(r.LogFile)
	rebooted := r.BootID != "" && r.BootID != host.Observe(1).BootID
	neverSpawned := r.State == spawnIntended && words.Quote == ""
	asked := r.Stopping || rebooted || neverSpawned || s.intent.Desired.State == desiredStopped
	s.recordExit(r, exitFacts{Asked: asked, OOMKilled: oom, OOMLogged: words.OutOfMemory, Refusal: words.Refusal}, words)
}

// wantsLog appends the log of a new run and forgets the oldest.
func (s *supervisor) wantsLog(path string) {
	s.intent.Seen.Logs = pruneRunLogs(append(slices.Clone(s.intent.Seen.Logs), path))
}
