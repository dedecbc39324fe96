package hostctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hermes.dev/hermes/cmd/hermes/internal/service"
	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Secondary is a profile that has a gateway of its own and shall lose it.
type Secondary struct {
	Profile string `json:"profile"`
	// PID of its living gateway, 0 for none; Service says whether it has a unit.
	PID     int  `json:"pid,omitempty"`
	Service bool `json:"service,omitempty"`
}

// Plan is what a migration would do.
type Plan struct {
	// Expected are the profiles that the one gateway has to serve in the end.
	Expected []string
	// Secondaries lose their own gateways.
	Secondaries []Secondary
	// Flag says whether multiplexing is switched on already, ServedSet how many profiles a live gateway serves.
	Flag   bool
	Served int
	// Blockers keep the migration from starting.
	Blockers []string
	// Unfinished is true while a manifest is on disk: an earlier migration did not end.
	Unfinished bool
}

// Done reports whether there is nothing to do: by topology, not by the flag alone. Implements G-286 and T-072.
func (p Plan) Done() bool {
	return !p.Unfinished && len(p.Secondaries) == 0 && (p.Flag || p.Served > 1)
}

// MigrationPlan looks at the host and changes nothing.
func (h *Host) MigrationPlan(ctx context.Context) (Plan, error) {
	var p Plan
	roster, err := gateway.Roster(h.Launch.Root)
	if err != nil {
		return p, err
	}
	m, unfinished, err := readManifest(h.Launch.Root)
	if err != nil {
		return p, err
	}
	p.Unfinished = unfinished
	for _, i := range roster {
		if i.Name == home.DefaultProfile {
			if cfg, err := home.NewView(i.Config(), h.Clock).Read(); err == nil {
				p.Flag = cfg.Bool("gateway", "multiplex_profiles")
			}
			p.Expected = append(p.Expected, i.Name)
			continue
		}
		if i.OptedOut || i.Parked {
			continue
		}
		p.Expected = append(p.Expected, i.Name)
		s := Secondary{Profile: i.Name, Service: h.Services.Installed(i.Name)}
		if record, ok := host.ReadPIDFile(i.Home); ok && host.ProcessLiveness(record.Process()) != host.Dead {
			s.PID = record.PID
		}
		if s.PID != 0 || s.Service {
			p.Secondaries = append(p.Secondaries, s)
		}
	}
	if unfinished {
		for _, s := range m.Secondaries { // what an earlier run found and has not finished
			if !slices.ContainsFunc(p.Secondaries, func(o Secondary) bool { return o.Profile == s.Profile }) {
				p.Secondaries = append(p.Secondaries, s)
			}
		}
		return p, nil // a manifest outranks every gate
	}
	if _, served := h.Prober.Probe(ctx, true); served.Known {
		p.Served = len(served.Profiles)
	}
	p.Blockers = h.sharedTokens(roster)
	return p, nil
}

// sharedTokens names the bot tokens that two profiles configure: one gateway would poll them twice. Implements G-287.
func (h *Host) sharedTokens(roster []gateway.Installed) []string {
	first := map[string]string{}
	var out []string
	for _, i := range roster {
		if i.OptedOut || i.Parked {
			continue
		}
		env, err := home.NewEnvView(i.Paths, h.Clock).Environment()
		if err != nil {
			continue
		}
		for _, kv := range env {
			key, value, _ := strings.Cut(kv, "=")
			if !strings.HasSuffix(key, "_BOT_TOKEN") || value == "" {
				continue
			}
			if other, taken := first[kv]; taken {
				out = append(out, fmt.Sprintf("profiles %s and %s have the same %s: give each its own, or remove it from one", other, i.Name, key))
				continue
			}
			first[kv] = i.Name
		}
	}
	return out
}

// Describe says what a plan would do, one line an item.
func (p Plan) Describe() []string {
	var out []string
	if p.Unfinished {
		out = append(out, "finish the migration that did not end")
	}
	for _, s := range p.Secondaries {
		what := "its gateway"
		if s.PID != 0 {
			what = fmt.Sprintf("its gateway, pid %d", s.PID)
		}
		if s.Service {
			what += " and its service"
		}
		out = append(out, fmt.Sprintf("profile %s loses %s", s.Profile, what))
	}
	if !p.Flag {
		out = append(out, "gateway.multiplex_profiles: true is set for the default profile")
	}
	return append(out, "one gateway serves "+strings.Join(p.Expected, ", "))
}

// Migrate folds every gateway of the host into one. What it is about to do is on disk first; a failure is compensated at
// once, and a run that was killed is finished by the next. Implements G-286 and T-073.
func (h *Host) Migrate(ctx context.Context, p Plan, spec service.Spec) error {
	root := h.Launch.Root
	m := manifest{StartedAt: h.Clock.Now().UTC().Format(time.RFC3339), Secondaries: p.Secondaries}
	if err := m.write(root); err != nil {
		return err
	}
	if err := h.fold(ctx, p, spec); err != nil {
		h.say("migration failed: %s; putting back what was stopped", err)
		if undoErr := h.unfold(ctx, p, spec); undoErr != nil {
			return coded(attach.ExitFailed, "%w; and putting it back: %w; run hermes gateway migrate --multiplex again", err, undoErr)
		}
		return errors.Join(err, removeManifest(root))
	}
	return removeManifest(root)
}

func (h *Host) fold(ctx context.Context, p Plan, spec service.Spec) error {
	hadService := false
	for _, s := range p.Secondaries {
		hadService = hadService || s.Service
		if err := h.Services.Uninstall(ctx, s.Profile); err != nil {
			return fmt.Errorf("profile %s: remove its service: %w", s.Profile, err)
		}
		other, err := h.of(s.Profile)
		if err != nil {
			return err
		}
		if record, running := other.own(); running {
			if err := h.End(ctx, processOf(record)); err != nil {
				return fmt.Errorf("profile %s: stop its gateway: %w", s.Profile, err)
			}
		}
	}
	def, err := h.of(home.DefaultProfile)
	if err != nil {
		return err
	}
	if err := home.SetConfigBool(def.Launch.Config(), true, "gateway", "multiplex_profiles"); err != nil && !errors.Is(err, home.ErrManagedHome) {
		return err
	}
	if err := def.renew(ctx, hadService, spec); err != nil {
		return err
	}
	return def.awaitServed(ctx, p.Expected)
}

// renew makes the default profile's gateway a new process that multiplexes, under the manager that the others had.
func (h *Host) renew(ctx context.Context, hadService bool, spec service.Spec) error {
	record, running := h.own()
	installed := h.Services.Installed(home.DefaultProfile)
	if installed {
		if err := h.Services.Stop(ctx, home.DefaultProfile); err != nil {
			return err
		}
	}
	if running {
		if err := h.End(ctx, processOf(record)); err != nil {
			return err
		}
	}
	if !installed && hadService {
		spec.Home = h.Launch
		if err := h.Services.Install(ctx, spec); err != nil {
			return err
		}
		return h.awaitUp(ctx, "")
	}
	return h.launch(ctx, []string{"--replace"})
}

// awaitServed waits until the gateway serves every expected profile.
func (h *Host) awaitServed(ctx context.Context, expected []string) error {
	over := h.Clock.NewTimer(h.patience())
	defer over.Stop()
	ticker := h.Clock.NewTicker(5 * endedEvery)
	defer ticker.Stop()
	missing := expected
	for {
		if id, err := host.NewClient(h.Launch.Home).Identify(ctx); err == nil {
			served := id.Served()
			missing = slices.DeleteFunc(slices.Clone(expected), func(n string) bool { return slices.Contains(served, n) })
			if len(missing) == 0 {
				return nil
			}
		}
		select {
		case <-ticker.C():
		case <-over.C():
			return fmt.Errorf("the gateway does not serve %s", strings.Join(missing, ", "))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unfold puts the gateways of the secondaries back.
func (h *Host) unfold(ctx context.Context, p Plan, spec service.Spec) error {
	var errs []error
	for _, s := range p.Secondaries {
		other, err := h.of(s.Profile)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		switch {
		case s.Service:
			spec.Home, spec.Force = other.Launch, true
			errs = append(errs, h.Services.Install(ctx, spec))
		case s.PID != 0:
			errs = append(errs, h.Spawn(other.Launch, []string{"gateway", "run", "--home", other.Launch.Home, "--force"}))
		}
	}
	return errors.Join(errs...)
}

// of is this host seen from another profile.
func (h *Host) of(profile string) (*Host, error) {
	paths, err := home.ForProfile(h.Launch.Root, profile)
	if err != nil {
		return nil, err
	}
	other := *h
	other.Launch = paths
	return &other, nil
}
