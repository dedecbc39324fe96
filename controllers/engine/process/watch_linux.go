package process

import (
	"context"

	"hermes.dev/hermes/runtime/host"
)

// watchRun looks after a gateway that works: it waits for its end, for a change
// of what is wanted and for the next liveness question. Implements G6 (liveness).
func (s *supervisor) watchRun(ctx context.Context, want wanted) {
	if s.decide(want).Restart {
		s.log.Info("restarting the gateway", "reason", s.decide(want).Why)
		s.stopRun(ctx, stopAsked)
		return
	}
	s.publishRunning(want)
	timer := s.eng.opts.Clock.NewTimer(s.eng.opts.PingInterval)
	defer timer.Stop()
	select {
	case <-s.proc.ended():
		s.settleEnd(ctx, stopNone)
	case <-timer.C():
		s.ping(ctx)
	case <-s.wake:
	case <-ctx.Done():
	}
}

func (s *supervisor) publishRunning(want wanted) {
	s.publish(view{Phase: phaseRunning, Outdated: s.decide(want).Why})
}

// decide compares the run with what is wanted and installed.
func (s *supervisor) decide(want wanted) update {
	r := s.intent.Seen.Run
	return decideUpdate(updateInput{
		Running: r.Settings, Wanted: want.Settings,
		RunningToken: r.RestartToken, WantedToken: want.Workload.RestartToken,
		RunningRevision: s.identity.Revision, InstalledRevision: s.eng.opts.Revision(),
		TriedRevision: r.Revision,
		AutoUpdate:    want.Workload.AutoUpdate,
	})
}

// ping asks the gateway for its identity and its status: the first proves who
// answers, the second goes through the gateway's own state, so that a process
// whose socket lives on beside a deadlock does not count as alive. Only several
// misses in a row end it.
func (s *supervisor) ping(ctx context.Context) {
	r := s.intent.Seen.Run
	if err := boundRunLog(r.LogFile, maxRunLog, keptLogTail); err != nil {
		s.log.Error(err, "bound the run log")
	}
	s.family = familyOf(r.PID)
	answer, alive := s.askAlive(ctx, r.Home)
	if ctx.Err() != nil {
		return
	}
	if alive {
		s.identity, s.missed = answer, 0
		s.oomBase = s.eng.opts.oomKills()
		return
	}
	s.missed++
	s.log.Info("the gateway did not answer", "pid", r.PID, "missed", s.missed)
	if s.missed >= s.eng.opts.MissedPings {
		s.stopRun(ctx, stopUnresponsive)
	}
}

func (s *supervisor) askAlive(ctx context.Context, home string) (host.Identity, bool) {
	client := s.client(home)
	answer, err := client.Identify(ctx)
	if err != nil || !s.proves(answer) {
		return host.Identity{}, false
	}
	if _, err := client.Status(ctx); err != nil {
		return host.Identity{}, false
	}
	return answer, true
}
