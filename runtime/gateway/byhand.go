package gateway

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// ByHand is what a gateway needs that nobody declared: it serves the profiles that it finds on disk, as they are.
type ByHand struct {
	// Force keeps a lost host lock from ending the process.
	Force bool
	// Rescan is how often the profiles on disk are looked at again; 0 means 30 s. Implements G-330.
	Rescan time.Duration
	// Storm bounds how fast starts may follow each other; zero means 5 in 2 minutes.
	Storm host.StormLimit
	// Warn shows a line to whoever started the gateway.
	Warn func(line string)
}

// storm is the ordinary number of starts. Implements the defaults of gateway.respawn_storm.
var storm = host.StormLimit{MaxStarts: 5, Window: 2 * time.Minute}

// claimHost takes the host lock before anything is opened, so that of two gateways that start at one instant exactly
// one goes on. Implements G-226, G-227 and G-260.
func (g *gateway) claimHost(ctx context.Context) error {
	r, err := g.newRendezvous()
	if err != nil {
		return err
	}
	res := r.Claim(host.Offer{Home: g.o.Home, Argv: g.o.Argv})
	switch res.Outcome {
	case host.Acquired:
		g.rendezvous = r
		if res.Err != nil {
			g.o.Log.Error(res.Err, "publish the rendezvous record")
		}
		return nil
	case host.CouldNotOpen:
		// Not contention: a read-only or full disk keeps nobody from starting. Implements G-225.
		g.o.Log.Error(res.Err, "the host lock cannot be used: starting without it", "dir", g.o.LockDir)
		return nil
	}
	return g.contest(ctx, r, res.Holder)
}

// contest decides what becomes of the loser of the host lock.
func (g *gateway) contest(ctx context.Context, r *host.Rendezvous, holder *host.PIDRecord) error {
	prober := &attach.Prober{Rendezvous: r, Clock: g.o.Clock, Log: g.o.Log}
	owner, answer := prober.Interrogate(ctx)
	pid := 0
	if owner != nil {
		pid = owner.PID
	} else if holder != nil {
		pid = holder.PID
	}
	who := "another process that does not name itself"
	if pid > 0 {
		who = fmt.Sprintf("pid %d", pid)
	}
	switch attach.LostLock(g.o.ByHand.Force, answer) {
	case attach.Forced:
		g.o.Log.Info("serving beside the gateway of this host because --force says so", "owner", pid)
	case attach.Beside:
		g.warn(fmt.Sprintf("serving beside %s, which serves only its own profile: fold both into one gateway with hermes gateway migrate --multiplex", who))
	default:
		return refuse(v1alpha1.ReasonHostOwnedElsewhere, ExitTemporary,
			"%s is the gateway of this host: fold the profiles into it with hermes gateway migrate --multiplex, take over with --replace, or start a second gateway with --force", who)
	}
	return nil
}

func (g *gateway) warn(line string) {
	g.o.Log.Info(line)
	if g.o.ByHand.Warn != nil {
		g.o.ByHand.Warn(line)
	}
}

// breakStorm waits when starts follow each other too fast. It is never fatal. Implements G-215.
func (g *gateway) breakStorm(ctx context.Context) error {
	limit := g.o.ByHand.Storm
	if limit == (host.StormLimit{}) {
		limit = storm
	}
	wait, err := host.RecordStart(g.o.Home, g.o.Clock.Now(), limit)
	if err != nil {
		g.o.Log.Error(err, "record this start")
	}
	if wait <= 0 {
		return nil
	}
	g.warn(fmt.Sprintf("started too often: waiting %s before serving", wait))
	select {
	case <-g.o.Clock.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// openByHand makes the host's claim and settles which profiles to serve.
func (g *gateway) openByHand(ctx context.Context) error {
	if err := g.claimHost(ctx); err != nil {
		return err
	}
	if err := g.breakStorm(ctx); err != nil {
		return err
	}
	launch := home.ForHome(g.o.Home)
	d := &disk{g: g, launch: launch, signatures: map[string]string{}}
	verdict, err := DecideMultiplex(MultiplexFacts(launch, g.otherGateway))
	if err != nil {
		g.o.Log.Error(err, "look at the profiles of this host")
	}
	for _, line := range verdict.Warnings {
		g.warn(line)
	}
	d.multiplex, g.standaloneReason = verdict.Multiplex, verdict.Reason
	if verdict.WriteFlag {
		if err := home.SetConfigBool(filepath.Join(launch.Root, "config.yaml"), true, multiplexKey...); err != nil {
			g.o.Log.Error(err, "remember that this host multiplexes")
		}
	}
	g.disk = d
	return nil
}

// otherGateway reports whether another living process is the gateway of a home.
func (g *gateway) otherGateway(paths home.Paths) bool {
	record, ok := host.ReadPIDFile(paths.Home)
	return ok && record.PID != os.Getpid() && host.ProcessLiveness(record.Process()) != host.Dead
}

// Restart ends a run that shall be followed by another one of the same command line. Implements G-289.
type Restart struct {
	// API is the listening API socket, for Options.InheritedAPI of the run that follows; nil when it could not be kept.
	API *os.File
}

// Error says what happened.
func (*Restart) Error() string { return "the gateway was asked to restart" }

// handOver keeps the API socket for the run that follows: who connects from now on waits for that one.
func (g *gateway) handOver() {
	if !g.restarting.Load() {
		return
	}
	file, err := g.api.HandOver()
	if err != nil {
		g.o.Log.Error(err, "clients are refused until the next run answers")
		return
	}
	g.handedOver = file
}

// awaitRestart turns a request to restart into a stop that is followed by another run. Implements G-289.
func (g *gateway) awaitRestart(ctx context.Context) {
	select {
	case <-g.o.Restart:
		g.restarting.Store(true)
		g.draining.Store(true)
		g.stop()
	case <-ctx.Done():
	}
}
