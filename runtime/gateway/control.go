package gateway

import (
	"context"
	"errors"
	"sync/atomic"

	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/localapi"
)

// control answers the control socket.
type control struct{ g *gateway }

var _ host.ProfileHandler = control{}

// Identify implements host.Handler and G-244.
func (c control) Identify() host.Identity {
	g := c.g
	id := host.Identity{
		Protocol: host.ControlProtocol, Kind: host.Kind,
		PID: g.identity.PID, StartTime: g.identity.StartTime, HermesHome: g.o.Home,
		Profile: "default", Supervisor: g.o.Supervisor,
		CodeIdentity:   host.CodeIdentity{Revision: g.o.Revision},
		ServedProfiles: host.ServedProfiles(g.profiles.Served()),
		RunID:          g.o.RunID, Instance: g.o.RunID, APISocket: g.api.Path(),
	}
	if g.disk != nil {
		id.Profile = g.disk.launch.Name
		if !g.disk.multiplex {
			id.ServedProfiles = nil
		}
	}
	return id
}

// Status implements host.Handler and G-245.
func (c control) Status() host.Status {
	return host.NewStatus(c.g.stateNow(), c.g.identity.PID, c.g.o.Clock.Now())
}

// Rescan implements host.Handler and G-246. The node agent watches, so there is
// never anything to catch up with: the answer is the set as it is.
func (c control) Rescan(ctx context.Context) host.Rescan {
	if c.g.disk != nil {
		return c.g.disk.rescan(ctx)
	}
	return host.Rescan{
		Rescanned: c.g.started.Load(), Pending: !c.g.started.Load(),
		ServedProfiles: host.ServedProfiles(c.g.profiles.Served()),
	}
}

// Drain implements host.Handler: it starts the stop, which finishes the turns in flight first.
func (c control) Drain(context.Context) host.DrainState {
	g := c.g
	again := g.draining.Swap(true)
	g.stop()
	return host.DrainState{
		Draining: true, AlreadyDraining: again, ActiveWork: g.profiles.active(),
		PID: g.identity.PID, DrainTimeoutSeconds: g.o.DrainTimeout.Seconds(),
	}
}

// Serve implements host.ProfileHandler.
func (c control) Serve(ctx context.Context, name string) error {
	if c.g.disk == nil {
		return errDeclared
	}
	return c.g.disk.Serve(ctx, name)
}

// Unserve implements host.ProfileHandler.
func (c control) Unserve(ctx context.Context, name string) error {
	if c.g.disk == nil {
		return errDeclared
	}
	return c.g.disk.Unserve(ctx, name)
}

var errDeclared = errors.New("the profiles of this gateway are declared: set spec.suspended of the Profile instead")

// backend gives the local API the open profiles.
type backend struct {
	p        *profiles
	draining *atomic.Bool
}

// Stopping says that profiles are being closed.
func (b backend) Stopping() bool { return b.draining.Load() }

// Profile implements localapi.Backend.
func (b backend) Profile(name string) (localapi.Profile, bool) {
	r, ok := b.p.lookup(name)
	if !ok {
		return nil, false
	}
	return r, true
}

// Profiles implements localapi.Backend.
func (b backend) Profiles() []string { return b.p.Served() }
