package attach

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Patience of a probe.
const (
	// MemoFor is how long an answer is used again. Implements G-252.
	MemoFor = 2 * time.Second
	// WaitFor and WaitEvery bound the wait for an owner that has not answered. Implements G-253.
	WaitFor   = 5 * time.Second
	WaitEvery = 250 * time.Millisecond
)

// Asker is a control socket's client.
type Asker interface {
	Identify(ctx context.Context) (host.Identity, error)
	RescanProfiles(ctx context.Context) (host.Rescan, error)
}

// Prober sees who serves this host. It is safe for concurrent use.
type Prober struct {
	// Rendezvous of role gateway; it is only read.
	Rendezvous *host.Rendezvous
	// Declared is where the declared gateway of this home root would have its record; nil does not look.
	Declared *host.Rendezvous
	// Clock must be monotonic, as the real one is.
	Clock clock.Clock
	Log   logr.Logger
	// Ask returns the client of a home; nil means host.NewClient.
	Ask func(home string) Asker
	// WaitFor bounds the wait for a silent owner, who is asked every WaitEvery; 0 means the constants, a negative
	// WaitFor not to wait.
	WaitFor, WaitEvery time.Duration

	mu   sync.Mutex
	memo memo
}

// memo is the last probe and what it depends on.
type memo struct {
	at      time.Time
	writes  uint64
	record  string
	owner   *Owner
	served  ServedSet
	present bool
}

// Probe reads the record, proves its owner and asks it whom it serves. owner is nil when there is none to be dialled.
// An answer is reused for [MemoFor] unless a record was written meanwhile, by this process or another; fresh asks anew.
// Implements G-250 to G-252 and the dialling part of G-224.
func (p *Prober) Probe(ctx context.Context, fresh bool) (owner *Owner, served ServedSet) {
	declared := false
	record, standing, reason := p.Rendezvous.Look()
	if p.Declared != nil && (record == nil || !standing.MayDial(host.RoleGateway)) {
		declared = true
		record, standing, reason = p.Declared.Look()
	}
	if record == nil || !standing.MayDial(host.RoleGateway) {
		if record != nil {
			p.Log.V(1).Info("the rendezvous record proves no owner", "pid", record.PID, "reason", reason)
		}
		return nil, ServedSet{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := fmt.Sprintf("%d %d %s %s", record.PID, record.StartTime, record.Home, record.UpdatedAt)
	m := p.memo
	if !fresh && m.present && m.record == key && m.writes == p.Rendezvous.Writes() && p.Clock.Since(m.at) < MemoFor {
		return m.owner, m.served
	}
	owner = ownerOf(*record)
	owner.Declared = declared
	served = p.ask(ctx, *owner)
	p.memo = memo{at: p.Clock.Now(), writes: p.Rendezvous.Writes(), record: key, owner: owner, served: served, present: true}
	return owner, served
}

func ownerOf(r host.Record) *Owner {
	return &Owner{PID: r.PID, Home: r.Home, Profile: home.ForHome(r.Home).Name, StartTime: r.StartTime}
}

// ask accepts an identity only from the recorded process for the recorded home. Implements G-251.
func (p *Prober) ask(ctx context.Context, o Owner) ServedSet {
	answer, err := p.client(o.Home).Identify(ctx)
	if err != nil {
		p.Log.V(1).Info("the owner did not answer", "pid", o.PID, "reason", err.Error())
		return ServedSet{}
	}
	if answer.PID != o.PID || (answer.HermesHome != "" && !host.SameHome(answer.HermesHome, o.Home)) {
		p.Log.Info("ignored an answer that is not the recorded owner's", "owner", o.PID, "answered", answer.PID, "home", answer.HermesHome)
		return ServedSet{}
	}
	return ServedSet{Known: true, Profiles: answer.Served()}
}

func (p *Prober) client(home string) Asker {
	if p.Ask != nil {
		return p.Ask(home)
	}
	return host.NewClient(home)
}

// Request is one start that asks for a decision.
type Request struct {
	// Profile that is about to be served; its home root is Root.
	Profile, Root string
	// Replace is --replace, Force is --force.
	Replace, Force bool
	// OptedOut is true for a named profile that keeps a gateway of its own.
	OptedOut bool
}

// Decide looks, waits and asks as far as the truth table needs, and returns its decision. It never fails: a probe that
// panics is decided as D1. Implements G-253, G-254, G-257 and G-260.
func (p *Prober) Decide(ctx context.Context, r Request) (d Decision) {
	f := Facts{Profile: r.Profile, SelfPID: os.Getpid(), Replace: r.Replace, Force: r.Force, OptedOut: r.OptedOut}
	if r.Force {
		return Decide(f) // without any probe (D14)
	}
	defer func() {
		if cause := recover(); cause != nil {
			p.Log.Error(fmt.Errorf("panic: %v", cause), "look for the gateway of this host")
			f.ProbeFailed = true
			d = Decide(f)
		}
	}()
	f.Owner, f.Served = p.Probe(ctx, false)
	for {
		if r.OptedOut {
			f.Fleet = p.Fleet(ctx, r.Root, f.Owner, f.Served)
		}
		d = Decide(f)
		switch d.Outcome {
		case NeedWait:
			f.Owner, f.Served = p.wait(ctx, f.Owner)
			f.Waited = true
		case NeedRescan:
			f.Rescan, f.Rescanned = p.rescan(ctx, *f.Owner), true
		default:
			return d
		}
	}
}

// wait polls until the owner answers, is gone, or the patience is over.
func (p *Prober) wait(ctx context.Context, owner *Owner) (*Owner, ServedSet) {
	patience, every := p.WaitFor, p.WaitEvery
	if patience < 0 {
		return owner, ServedSet{}
	}
	if patience == 0 {
		patience, every = WaitFor, WaitEvery
	}
	over := p.Clock.NewTimer(patience)
	defer over.Stop()
	for {
		next := p.Clock.NewTimer(every)
		select {
		case <-next.C():
		case <-over.C():
			next.Stop()
			return p.Probe(ctx, true)
		case <-ctx.Done():
			next.Stop()
			return owner, ServedSet{}
		}
		if owner, served := p.Probe(ctx, true); owner == nil || served.Known {
			return owner, served
		}
	}
}

// rescan asks the owner, at its own home's socket. Implements G-257.
func (p *Prober) rescan(ctx context.Context, o Owner) *host.Rescan {
	answer, err := p.client(o.Home).RescanProfiles(ctx)
	if err != nil {
		p.Log.V(1).Info("the owner did not rescan", "pid", o.PID, "reason", err.Error())
		return nil
	}
	return &answer
}

// Interrogate asks the process that won the host lock to rescan; nil when it cannot be asked. It may not have published
// its record yet, so it is waited for as an owner is. Implements the question of G-227.
func (p *Prober) Interrogate(ctx context.Context) (*Owner, *host.Rescan) {
	owner, served := p.Probe(ctx, true)
	if owner != nil && !served.Known {
		owner, served = p.wait(ctx, owner)
	}
	if owner == nil || !served.Known {
		return owner, nil
	}
	return owner, p.rescan(ctx, *owner)
}
