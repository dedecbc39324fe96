package attach

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/host"
)

// gatewayRig is a host with one real record, owned by this process's parent so that it is alive and not this process,
// and an owner whose answers the test sets.
type gatewayRig struct {
	t      *testing.T
	home   string
	prober *Prober

	identities, rescans atomic.Int32
	identify            func(n int32) (host.Identity, error)
	rescan              func() (host.Rescan, error)
	asked               atomic.Value // home of the last rescan
}

// owner is a living process that is not this one.
var ownerPID = os.Getppid()

func newRig(t *testing.T, clk clock.Clock) *gatewayRig {
	t.Helper()
	dir := t.TempDir()
	g := &gatewayRig{t: t, home: filepath.Join(dir, "root")}
	cfg := host.RendezvousConfig{Dir: filepath.Join(dir, "locks"), Role: host.RoleGateway, UID: os.Getuid(), Clock: clk, Log: logr.Discard()}
	r, err := host.NewRendezvous(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.prober = &Prober{Rendezvous: r, Clock: clk, Log: logr.Discard(), WaitFor: -1, Ask: func(home string) Asker { return asker{g, home} }}
	g.identify = func(int32) (host.Identity, error) { return host.Identity{}, host.ErrNoAnswer }
	g.rescan = func() (host.Rescan, error) { return host.Rescan{}, host.ErrNoAnswer }
	return g
}

// publish writes a record that names the parent process.
func (g *gatewayRig) publish(profiles ...string) {
	g.t.Helper()
	seen := host.Observe(ownerPID)
	writeRecord(g.t, g.prober.Rendezvous.RecordPath(), host.Record{
		Role: host.RoleGateway, Home: g.home, PID: ownerPID, ProtocolVersion: host.RecordProtocolVersion,
		StartTime: seen.StartTime, BootID: seen.BootID, CreateTime: &seen.CreateTime, Profiles: profiles, UpdatedAt: time.Now().String(),
	})
}

type asker struct {
	g    *gatewayRig
	home string
}

func (a asker) Identify(context.Context) (host.Identity, error) {
	return a.g.identify(a.g.identities.Add(1))
}

func (a asker) RescanProfiles(context.Context) (host.Rescan, error) {
	a.g.rescans.Add(1)
	a.g.asked.Store(a.home)
	return a.g.rescan()
}

func (g *gatewayRig) serves(profiles ...string) {
	g.identify = func(int32) (host.Identity, error) {
		return host.Identity{Kind: host.Kind, PID: ownerPID, HermesHome: g.home, ServedProfiles: profiles}, nil
	}
}

func (g *gatewayRig) decide(r Request) Decision {
	g.t.Helper()
	if r.Profile == "" {
		r.Profile = "coder"
	}
	r.Root = g.home
	return g.prober.Decide(context.Background(), r)
}

func (g *gatewayRig) want(r Request, o Outcome, transient bool) Decision {
	g.t.Helper()
	d := g.decide(r)
	if d.Outcome != o || d.Transient != transient {
		g.t.Fatalf("Decide = %s %s transient=%t, want %s transient=%t", d.Rule, d.Outcome, d.Transient, o, transient)
	}
	return d
}

// TestCases are the cases of §9.2 that need a record on disk and an owner that answers, or does not.
func TestCases(t *testing.T) {
	no := false
	start := func(t *testing.T) *gatewayRig { return newRig(t, clock.RealClock{}) }
	t.Run("T-040 no record", func(t *testing.T) { start(t).want(Request{}, Start, false) })
	t.Run("T-041 a record proves no served set", func(t *testing.T) {
		g := start(t)
		g.publish("default", "coder")
		if d := g.want(Request{}, Refuse, true); d.Served.Known {
			t.Error("the record's list was believed")
		}
	})
	t.Run("T-042", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.serves("default", "coder")
		g.want(Request{}, Attach, true)
	})
	t.Run("T-043 G-257 rescan goes to the owner's home", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.serves("default")
		g.rescan = func() (host.Rescan, error) {
			return host.Rescan{Rescanned: true, ServedProfiles: []string{"default", "coder"}}, nil
		}
		g.want(Request{}, Attach, true)
		if g.asked.Load() != g.home {
			t.Errorf("asked %v, want the owner's home %s", g.asked.Load(), g.home)
		}
	})
	t.Run("T-044", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.serves("default")
		g.rescan = func() (host.Rescan, error) {
			return host.Rescan{Rescanned: true, ServedProfiles: []string{"default"}}, nil
		}
		g.want(Request{}, Refuse, false)
	})
	t.Run("T-045 T-046 T-047", func(t *testing.T) {
		for _, r := range []Request{{}, {Profile: "default"}, {Replace: true}} {
			g := start(t)
			g.publish()
			g.identify = func(int32) (host.Identity, error) {
				return host.Identity{Kind: host.Kind, PID: ownerPID, HermesHome: g.home, Profile: "ops"}, nil
			}
			g.rescan = func() (host.Rescan, error) {
				return host.Rescan{Rescanned: true, Multiplex: &no, ServedProfiles: []string{"ops"}}, nil
			}
			if d := g.want(r, Start, false); !d.Converge {
				t.Error("no hint to converge")
			}
		}
	})
	t.Run("T-050 force asks nobody", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.serves("coder")
		g.want(Request{Force: true}, Start, false)
		if n := g.identities.Load(); n != 0 {
			t.Errorf("%d probes", n)
		}
	})
	t.Run("T-051 another pid answers", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.identify = func(int32) (host.Identity, error) {
			return host.Identity{Kind: host.Kind, PID: ownerPID + 1, HermesHome: g.home, ServedProfiles: []string{"coder"}}, nil
		}
		g.want(Request{}, Refuse, true)
	})
	t.Run("T-052 another home answers", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.identify = func(int32) (host.Identity, error) {
			return host.Identity{Kind: host.Kind, PID: ownerPID, HermesHome: t.TempDir(), ServedProfiles: []string{"coder"}}, nil
		}
		g.want(Request{}, Refuse, true)
	})
	t.Run("D1 a probe that panics", func(t *testing.T) {
		g := start(t)
		g.publish()
		g.identify = func(int32) (host.Identity, error) { panic("broken") }
		if d := g.want(Request{}, Start, false); d.Rule != "D1" {
			t.Errorf("rule %s", d.Rule)
		}
	})
}

// TestWait: an owner that answers late is attached to within the window, one that goes away meanwhile leaves the way
// free, and a silent one is waited for as long as G-253 says and no longer.
func TestWait(t *testing.T) {
	start := func(t *testing.T) *gatewayRig {
		g := newRig(t, clock.RealClock{})
		g.prober.WaitFor, g.prober.WaitEvery = 5*time.Second/100, 250*time.Millisecond/100
		g.publish()
		return g
	}
	t.Run("T-058 answers late", func(t *testing.T) {
		g := start(t)
		g.prober.WaitFor = 5 * time.Second
		g.identify = func(n int32) (host.Identity, error) {
			if n < 5 {
				return host.Identity{}, host.ErrNoAnswer
			}
			return host.Identity{Kind: host.Kind, PID: ownerPID, HermesHome: g.home, ServedProfiles: []string{"coder"}}, nil
		}
		if d := g.want(Request{}, Attach, true); d.Rule != "D8" || g.rescans.Load() != 0 {
			t.Errorf("rule %s after %d rescans, want D8", d.Rule, g.rescans.Load())
		}
	})
	t.Run("T-059 vanishes", func(t *testing.T) {
		g := start(t)
		g.prober.WaitFor = 5 * time.Second
		g.identify = func(n int32) (host.Identity, error) {
			if n == 3 {
				_ = os.Remove(g.prober.Rendezvous.RecordPath())
			}
			return host.Identity{}, host.ErrNoAnswer
		}
		if d := g.want(Request{}, Start, false); d.Rule != "D7" {
			t.Errorf("rule %s, want D7", d.Rule)
		}
	})
	t.Run("G-253 silent for good", func(t *testing.T) {
		g := start(t)
		began := time.Now()
		g.want(Request{}, Refuse, true)
		if took := time.Since(began); took < g.prober.WaitFor || g.identities.Load() < 3 {
			t.Errorf("%d questions in %s, want some over %s", g.identities.Load(), took, g.prober.WaitFor)
		}
		if WaitFor != 5*time.Second || WaitEvery != 250*time.Millisecond {
			t.Error("the window is not 0.25 s for 5 s")
		}
	})
}

// TestMemo is T-027: one dial for two probes, another once the record was rewritten or the memo is old.
func TestMemo(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	g := newRig(t, clk)
	g.publish()
	g.serves("coder")
	probe := func(fresh bool, want int32) {
		t.Helper()
		if owner, served := g.prober.Probe(context.Background(), fresh); owner == nil || !served.Has("coder") {
			t.Fatalf("probe = %v %v", owner, served)
		}
		if n := g.identities.Load(); n != want {
			t.Errorf("%d dials, want %d", n, want)
		}
	}
	probe(false, 1)
	clk.Step(MemoFor - time.Millisecond)
	probe(false, 1)
	g.publish("coder")
	probe(false, 2)
	probe(true, 3)
	clk.Step(MemoFor)
	probe(false, 4)
}
