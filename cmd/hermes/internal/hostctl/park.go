package hostctl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// parks reports whether start and stop of this profile mean parking: it is named, another process is to serve it, and it
// does not keep a gateway of its own.
func (h *Host) parks() bool {
	return h.Launch.Name != home.DefaultProfile && !h.HasOwnGateway()
}

// Parked reports whether the profile is parked.
func (h *Host) Parked() bool {
	_, err := os.Lstat(h.marker())
	return err == nil
}

// park writes the marker first, so that it survives a restart of the host, and then asks the host to let go.
// Implements the stop of G-284 and T-065.
func (h *Host) park(ctx context.Context) error {
	if _, err := os.Stat(h.Launch.Home); err != nil {
		return fmt.Errorf("profile %s: %w", h.Launch.Name, err)
	}
	if err := os.WriteFile(h.marker(), nil, 0o600); err != nil {
		return fmt.Errorf("park profile %s: %w", h.Launch.Name, err)
	}
	return h.tell(ctx, "parked", (*host.Client).UnserveProfile)
}

// unpark removes the marker first and then asks the host to serve. Implements the start of G-284.
func (h *Host) unpark(ctx context.Context) error {
	if err := os.Remove(h.marker()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start profile %s: %w", h.Launch.Name, err)
	}
	return h.tell(ctx, "served", (*host.Client).ServeProfile)
}

// tell asks the host about this profile. What is not confirmed is reported as pending, never as done.
func (h *Host) tell(ctx context.Context, done string, ask func(*host.Client, context.Context, string) error) error {
	owner, _ := h.servedElsewhere(ctx)
	if owner == nil {
		h.say("profile %s: %s once a gateway of this host runs; none does", h.Launch.Name, done)
		return nil
	}
	if err := ask(host.NewClient(owner.Home), ctx, h.Launch.Name); err != nil {
		return coded(attach.ExitTemporary, "profile %s: not confirmed by pid %d, it follows with its next rescan in at most 30 s: %w", h.Launch.Name, owner.PID, err)
	}
	h.say("profile %s: %s by pid %d", h.Launch.Name, done, owner.PID)
	return nil
}
