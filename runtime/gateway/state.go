package gateway

import (
	"context"
	"time"

	"hermes.dev/hermes/runtime/host"
)

// recordSettle is how long the served set must be left alone before its records are written.
const recordSettle = 200 * time.Millisecond

// stateNow is the runtime status as it is at this moment.
func (g *gateway) stateNow() host.RuntimeState {
	s := g.state.Snapshot()
	g.fill(&s)
	return s
}

// writeState records a change of phase on disk.
func (g *gateway) writeState(phase string) {
	err := g.state.Update(func(s *host.RuntimeState) {
		s.GatewayState = phase
		g.fill(s)
	})
	if err != nil {
		g.o.Log.Error(err, "write gateway state")
	}
}

// servedChanged asks for the records of the served set to be written soon.
func (g *gateway) servedChanged() {
	select {
	case g.recordSoon <- struct{}{}:
	default:
	}
}

// recordServed writes the records of the served set once it has been left alone for
// a moment, so that opening a thousand profiles is a handful of writes.
func (g *gateway) recordServed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.recordSoon:
		}
		select {
		case <-ctx.Done():
			return // the last set before the stop is what the next run opens
		case <-g.o.Clock.After(recordSettle):
		}
		g.writeState("running")
		if g.rendezvous == nil {
			continue
		}
		if err := g.rendezvous.Publish(g.profiles.Served()); err != nil {
			g.o.Log.Error(err, "publish served profiles")
		}
	}
}

func (g *gateway) fill(s *host.RuntimeState) {
	s.MultiplexStandaloneReason = g.standaloneReason
	s.RestartRequested = g.restarting.Load()
	if !g.draining.Load() && (g.disk == nil || g.disk.multiplex) {
		s.ServedProfiles = host.ServedProfiles(g.profiles.Served())
	}
	s.ActiveAgents = g.profiles.active()
	s.ActiveWork = s.ActiveAgents
}
