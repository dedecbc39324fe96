package gateway

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Start is how a gateway is started by hand.
type Start struct {
	// Replace is --replace: the owner is ended by End, then this gateway serves.
	Replace bool
	// Supervised is true when a service manager started the process. Implements the input of G-270 and G-271.
	Supervised bool
	// End ends the owner of the host and returns once it is gone.
	End func(ctx context.Context, owner attach.Owner) error
	// Guard, if set, is asked before a start that the decision allows; its error ends it. Implements the later guards of
	// G-272, which are skipped for a supervised process (G-271).
	Guard func(ctx context.Context) error
}

// Parted means that a start was decided against; nothing was opened.
type Parted struct {
	attach.Decision
	// Code is the exit code.
	Code int
	// Lines say why and what can be done.
	Lines []string
}

// Error is the first line.
func (p *Parted) Error() string { return p.Lines[0] }

// DeclaredRendezvous is where the gateway of a Gateway object publishes itself for a home root.
func DeclaredRendezvous(root string, clk clock.PassiveClock, log logr.Logger) (*host.Rendezvous, error) {
	return host.NewRendezvous(host.RendezvousConfig{
		Dir: LockDir(root), Role: host.RoleGateway, DefaultRoot: root, UID: os.Getuid(), Clock: clk, Log: log,
	})
}

// RunByHand decides whether to start, and then serves the profiles on disk until ctx ends. The decision comes before
// any claim. It ends with a *Parted when another gateway is to serve, and else as Run does. Implements G-255 to G-260.
func RunByHand(ctx context.Context, o Options, s Start) error {
	launch := home.ForHome(o.Home)
	g := &gateway{o: o}
	r, err := g.newRendezvous()
	if err != nil {
		return err
	}
	optedOut := false
	if cfg, err := readConfig(launch); err == nil {
		optedOut = launch.Name != home.DefaultProfile && cfg.Bool("gateway", "standalone")
	}
	declared, err := DeclaredRendezvous(launch.Root, o.Clock, o.Log)
	if err != nil {
		return err
	}
	prober := &attach.Prober{Rendezvous: r, Declared: declared, Clock: o.Clock, Log: o.Log}
	d := prober.Decide(ctx, attach.Request{
		Profile: launch.Name, Root: launch.Root, Replace: s.Replace, Force: o.ByHand.Force, OptedOut: optedOut,
	})
	lines := attach.Explain(d, launch.Name)
	if code, ends := attach.ExitCode(d, s.Supervised); ends {
		if d.Outcome == attach.Refuse {
			o.Log.Info("WARNING: refused to start", "rule", d.Rule, "reason", lines[0], "exitCode", code)
		}
		return &Parted{Decision: d, Code: code, Lines: lines}
	}
	for _, line := range lines {
		g.warn(line)
	}
	if d.Outcome == attach.Replace {
		if err := s.End(ctx, *d.Owner); err != nil {
			return fmt.Errorf("replace the gateway of this host: %w", err)
		}
		if _, err := r.DiscardDead(); err != nil {
			o.Log.Error(err, "retract the record of the gateway that was replaced")
		}
	}
	if s.Guard != nil && !s.Supervised && d.Outcome == attach.Start {
		if err := s.Guard(ctx); err != nil {
			return err
		}
	}
	return Run(ctx, o)
}
