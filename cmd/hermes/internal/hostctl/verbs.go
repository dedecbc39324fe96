package hostctl

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/host"
)

// Start starts the profile: a parked one is served again by the host's gateway, else its service is started.
// Implements G-280 and the start of G-284.
func (h *Host) Start(ctx context.Context, force bool) error {
	if err := h.refuseDeclared(ctx); err != nil {
		return err
	}
	if h.parks() && (h.Parked() || !force) {
		if h.Parked() {
			return h.unpark(ctx)
		}
		if owner, served := h.servedElsewhere(ctx); owner != nil && served.Has(h.Launch.Name) {
			return h.Attached(ctx, false)
		}
	}
	if err := NamedGuard(h.Launch.Name, h.HasOwnGateway(), force); err != nil {
		return err
	}
	if err := h.Attached(ctx, force); err != nil {
		return err
	}
	return h.launch(ctx, nil)
}

// launch starts the service, or a process in the background where there is no service.
func (h *Host) launch(ctx context.Context, args []string) error {
	if h.Services.Installed(h.Launch.Name) {
		if err := h.Services.Start(ctx, h.Launch.Name); err != nil {
			return fmt.Errorf("start the service: %w", err)
		}
	} else if err := h.Spawn(h.Launch, append([]string{"gateway", "run", "--home", h.Launch.Home}, args...)); err != nil {
		return err
	}
	return h.awaitUp(ctx, "")
}

// awaitUp waits until the gateway of the launch home answers with another run than before.
func (h *Host) awaitUp(ctx context.Context, before string) error {
	over := h.Clock.NewTimer(h.patience())
	defer over.Stop()
	ticker := h.Clock.NewTicker(endedEvery)
	defer ticker.Stop()
	for {
		if id, err := host.NewClient(h.Launch.Home).Identify(ctx); err == nil && id.RunID != before {
			h.say("gateway of %s: pid %d serves %d profiles", h.Launch.Name, id.PID, len(id.Served()))
			return nil
		}
		select {
		case <-ticker.C():
		case <-over.C():
			return coded(attach.ExitTemporary, "the gateway of %s does not answer yet: see hermes gateway status", h.Launch.Name)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// StartAll reports a live host gateway and starts nothing beside it; only when there is none it starts the service of the
// launch profile. It never sweeps. Implements G-281 and T-060.
func (h *Host) StartAll(ctx context.Context) error {
	owner, served := h.Prober.Probe(ctx, true)
	if owner == nil {
		return h.launch(ctx, nil)
	}
	h.say("the gateway of this host runs: %s", attach.Line(*owner, served))
	for _, m := range h.Prober.Fleet(ctx, h.Launch.Root, owner, served)[1:] {
		h.say("beside it: %s; fold it in with hermes gateway migrate --multiplex", attach.Line(m.Owner, m.Served))
	}
	return nil
}

// Stop parks a profile that another process serves, else it stops the profile's own gateway. Implements G-283 and G-284.
func (h *Host) Stop(ctx context.Context) error {
	if err := h.refuseDeclared(ctx); err != nil {
		return err
	}
	if h.parks() {
		return h.park(ctx)
	}
	record, running := h.own()
	if h.Services.Installed(h.Launch.Name) {
		if err := h.Services.Stop(ctx, h.Launch.Name); err != nil {
			return fmt.Errorf("stop the service: %w", err)
		}
	}
	if !running {
		h.say("gateway of %s: does not run", h.Launch.Name)
		return h.retract(true)
	}
	if err := h.End(ctx, processOf(record)); err != nil {
		return err
	}
	h.say("gateway of %s: stopped, pid %d", h.Launch.Name, record.PID)
	return nil
}

// StopAll stops every gateway of the host. Implements the explicit form of G-283.
func (h *Host) StopAll(ctx context.Context) error {
	owner, served := h.Prober.Probe(ctx, true)
	fleet := h.Prober.Fleet(ctx, h.Launch.Root, owner, served)
	if len(fleet) == 0 {
		h.say("no gateway runs")
	}
	var errs []error
	for _, m := range fleet {
		if m.Declared {
			h.say("left pid %d alone: it is a declared gateway, hermes down stops those", m.PID)
			continue
		}
		if h.Services.Installed(m.Profile) {
			errs = append(errs, h.Services.Stop(ctx, m.Profile))
		}
		if err := h.End(ctx, m.Owner); err != nil {
			errs = append(errs, err)
			continue
		}
		h.say("stopped pid %d (launched as %s)", m.PID, m.Profile)
	}
	return errors.Join(errs...)
}

// Restart restarts the profile's own gateway, which finishes its turns first, or unserves and serves a profile of
// another's. A process must always be able to restart itself. Implements G-284, G-285 and G-289.
func (h *Host) Restart(ctx context.Context) error {
	if err := h.refuseDeclared(ctx); err != nil {
		return err
	}
	if h.parks() {
		owner, _ := h.servedElsewhere(ctx)
		if owner == nil {
			return coded(attach.ExitFailed, "profile %s: no gateway of this host runs; start it with hermes gateway start", h.Launch.Name)
		}
		if err := host.NewClient(owner.Home).UnserveProfile(ctx, h.Launch.Name); err != nil {
			return coded(attach.ExitTemporary, "profile %s: not confirmed by pid %d: %w", h.Launch.Name, owner.PID, err)
		}
		return h.tell(ctx, "served again", (*host.Client).ServeProfile)
	}
	record, running := h.own()
	if !running {
		return h.launch(ctx, nil)
	}
	id, err := host.NewClient(h.Launch.Home).Identify(ctx)
	if err != nil || id.PID != record.PID {
		return coded(attach.ExitTemporary, "pid %d does not answer: try again, or use hermes gateway restart --all", record.PID)
	}
	if _, err := h.signal(processOf(record), syscall.SIGUSR1); err != nil {
		return err
	}
	return h.awaitUp(ctx, id.RunID)
}

// RestartAll stops exactly the host's gateway, if it is this profile's, and starts it again in place of whatever is there.
// Gateways of other profiles are left alone. Implements G-282 and T-061 to T-063.
func (h *Host) RestartAll(ctx context.Context) error {
	owner, served := h.Prober.Probe(ctx, true)
	if owner == nil {
		return h.launch(ctx, []string{"--replace"})
	}
	if owner.Declared {
		return coded(attach.ExitConfiguration, "pid %d is a declared gateway: hermes gateway restart NAME", owner.PID)
	}
	if !host.SameHome(owner.Home, h.Launch.Home) {
		return coded(attach.ExitConfiguration, "the gateway of this host belongs to profile %s (pid %d): %s", owner.Profile, owner.PID, attach.Command(owner.Profile, "restart --all"))
	}
	h.say("restarting %s", attach.Line(*owner, served))
	if h.Services.Running(ctx, h.Launch.Name) {
		if err := h.Services.Stop(ctx, h.Launch.Name); err != nil {
			return fmt.Errorf("stop the service: %w", err)
		}
	}
	if err := h.End(ctx, *owner); err != nil {
		return err
	}
	return h.launch(ctx, []string{"--replace"})
}
