package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/runtime/host"
)

// stopCause says why the engine ends a run.
type stopCause int

const (
	// stopNone: it does not; the run ended by itself.
	stopNone stopCause = iota
	// stopAsked: a stop or restart is wanted.
	stopAsked
	// stopUnresponsive: it does not answer.
	stopUnresponsive
)

const (
	// drainAsk is the pause between two questions how much work is left.
	drainAsk = 250 * time.Millisecond
)

// stopRun takes the run down within StopBudget: drain, SIGTERM, SIGKILL of the
// whole tree, each only when the step before did not end it. Implements G8.
func (s *supervisor) stopRun(ctx context.Context, cause stopCause) {
	r := s.intent.Seen.Run
	if cause == stopAsked && !r.Stopping {
		r.Stopping = true
		if err := s.save(); err != nil {
			s.log.Error(err, "record that the gateway is stopped")
		}
	}
	unresponsive := cause == stopUnresponsive
	s.publish(view{Phase: phaseDraining, Unresponsive: unresponsive})
	if s.drain(ctx, unresponsive) {
		s.settleEnd(ctx, cause)
		return
	}
	if ctx.Err() != nil {
		return
	}
	s.publish(view{Phase: phaseEnding, Unresponsive: unresponsive})
	if err := s.proc.signal(unix.SIGTERM); err != nil {
		s.log.Error(err, "ask the gateway to end")
	}
	if !s.awaitEnd(ctx, termGrace) && ctx.Err() == nil {
		s.log.Info("the gateway ignores SIGTERM: killing it", "pid", r.PID)
	}
	if ctx.Err() == nil {
		s.settleEnd(ctx, cause)
	}
}

// drain asks the gateway to take no new work and waits until nothing is in
// flight, at most the drain timeout. ended is true when it left by itself.
func (s *supervisor) drain(ctx context.Context, unresponsive bool) (ended bool) {
	client := s.client(s.intent.Seen.Run.Home)
	clk := s.eng.opts.Clock
	deadline := clk.NewTimer(s.intent.Desired.DrainTimeout)
	defer deadline.Stop()
	answer, err := client.Identify(ctx)
	if err != nil || !s.proves(answer) {
		return isClosed(s.proc.ended())
	}
	for {
		state, err := client.Drain(ctx)
		if err != nil || state.ActiveWork == 0 {
			return isClosed(s.proc.ended())
		}
		s.publish(view{Phase: phaseDraining, Active: state.ActiveWork, Unresponsive: unresponsive})
		timer := clk.NewTimer(drainAsk)
		select {
		case <-s.proc.ended():
			timer.Stop()
			return true
		case <-deadline.C():
			timer.Stop()
			s.log.Info("the drain timeout is over", "active", state.ActiveWork)
			return false
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C():
		}
	}
}

// awaitEnd waits for the main process to end, at most d.
func (s *supervisor) awaitEnd(ctx context.Context, d time.Duration) bool {
	timer := s.eng.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.proc.ended():
		return true
	case <-timer.C():
	case <-ctx.Done():
	}
	return isClosed(s.proc.ended())
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// settleEnd ends what is left of the tree, collects the exit status and records
// the end. Until the main process is collected its number cannot be recycled,
// so the order matters. Implements G5 and G9.
func (s *supervisor) settleEnd(ctx context.Context, cause stopCause) {
	r := s.intent.Seen.Run
	rest := tree{Main: host.ProcessID{PID: r.PID, StartTime: r.StartTime}, RunID: r.ID, Cgroup: r.Cgroup,
		Family: s.family, Stray: s.eng.reaper.strays(r.PID)}
	if err := rest.kill(ctx, s.eng.opts.Clock); err != nil {
		if ctx.Err() != nil {
			return
		}
		s.trouble(ctx, err)
		return
	}
	facts := exitFacts{
		Asked: cause == stopAsked || r.Stopping, Unresponsive: cause == stopUnresponsive,
		OOMKilled: cgroupOOMKills(r.Cgroup) > 0 || (r.Cgroup == "" && s.eng.opts.oomKills() > s.oomBase),
	}
	if ws, known := s.proc.status(); known {
		facts.Known, facts.Code = true, ws.ExitStatus()
		if ws.Signaled() {
			facts.Signal = ws.Signal()
		}
	}
	words := readLastWords(r.LogFile)
	facts.OOMLogged, facts.Refusal = words.OutOfMemory, words.Refusal
	s.proc.close()
	s.proc, s.ready, s.identity, s.family = nil, false, host.Identity{}, nil
	s.releaseSlot()
	s.eng.reaper.forget(r.PID)
	removeCgroup(r.Cgroup)
	s.recordExit(r, facts, words)
}
