package hostctl

import (
	"context"
	"fmt"
	"slices"

	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/host"
)

// Report is what status shows.
type Report struct {
	Profile string `json:"profile"`
	Home    string `json:"home"`
	// State is parked, served, running or stopped.
	State   string   `json:"state"`
	PID     int      `json:"pid,omitempty"`
	Launch  string   `json:"launchProfile,omitempty"`
	Served  []string `json:"servedProfiles,omitempty"`
	Manager string   `json:"manager,omitempty"`
	// StandaloneReason is why a gateway serves only its own profile.
	StandaloneReason string   `json:"standaloneReason,omitempty"`
	Lines            []string `json:"-"`
	Others           []string `json:"otherGateways,omitempty"`
}

// Status looks at the profile in the order of G-403 and changes nothing (G-406).
func (h *Host) Status(ctx context.Context) Report {
	r := Report{Profile: h.Launch.Name, Home: h.Launch.Home, State: "stopped"}
	line := func(format string, args ...any) { r.Lines = append(r.Lines, fmt.Sprintf(format, args...)) }
	if h.Parked() {
		r.State = "parked"
		line("parked: %s serves it again", attach.Command(h.Launch.Name, "start"))
	}
	if h.OptedOut() {
		line("keeps a gateway of its own (gateway.standalone)")
	}
	owner, served := h.Prober.Probe(ctx, true)
	own, running := h.own()
	if owner != nil && !host.SameHome(owner.Home, h.Launch.Home) && served.Has(h.Launch.Name) {
		r.State, r.PID, r.Launch, r.Served = "served", owner.PID, owner.Profile, served.Profiles
		line("running via the gateway of this host: %s", attach.Line(*owner, served))
	}
	if h.Services.Installed(h.Launch.Name) {
		r.Manager = h.Services.Kind
		state := "stopped"
		if h.Services.Running(ctx, h.Launch.Name) {
			state = "running"
		}
		line("service %s: %s", h.Services.Path(h.Launch.Name), state)
	}
	if running {
		r.State, r.PID, r.Launch = "running", own.PID, h.Launch.Name
		set := attach.ServedSet{}
		if id, err := host.NewClient(h.Launch.Home).Identify(ctx); err == nil && id.PID == own.PID {
			set = attach.ServedSet{Known: true, Profiles: id.Served()}
			r.Served = set.Profiles
		}
		line("running: %s", attach.Line(processOf(own), set))
		if state, ok := host.ReadState(h.Launch.Home); ok && state.PID == own.PID {
			r.StandaloneReason = state.MultiplexStandaloneReason
		}
		if r.StandaloneReason != "" {
			line("serves only its own profile: %s", r.StandaloneReason)
		}
	}
	if r.State == "stopped" {
		line("not running: %s", attach.Command(h.Launch.Name, "start"))
	}
	for _, m := range h.Prober.Fleet(ctx, h.Launch.Root, owner, served) {
		if m.PID != r.PID {
			r.Others = append(r.Others, attach.Line(m.Owner, m.Served))
		}
	}
	slices.Sort(r.Served)
	return r
}
