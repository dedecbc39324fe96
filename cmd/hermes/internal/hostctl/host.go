package hostctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/cmd/hermes/internal/service"
	"hermes.dev/hermes/runtime/attach"
	"hermes.dev/hermes/runtime/gateway"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/host"
)

// Host is one host as a verb sees it.
type Host struct {
	// Launch is the home that the verb is about.
	Launch     home.Paths
	Rendezvous *host.Rendezvous
	Prober     *attach.Prober
	Services   service.Manager
	Clock      clock.WithTicker
	Out        io.Writer
	// Spawn starts a gateway in the background with the arguments of hermes; its log is in home.
	Spawn func(home home.Paths, args []string) error
	// Patience bounds the wait for a gateway to come up; 0 means 90 s.
	Patience time.Duration
	// KillAfter is how long a gateway without work may take to end before it is killed; 0 means 5 s.
	KillAfter time.Duration
}

// Coded is an outcome with an exit code and a text for people.
type Coded struct {
	Code int
	Err  error
}

func (e *Coded) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Coded) Unwrap() error { return e.Err }

func coded(code int, format string, args ...any) error {
	return &Coded{Code: code, Err: fmt.Errorf(format, args...)}
}

func (h *Host) say(format string, args ...any) { fmt.Fprintf(h.Out, format+"\n", args...) }

func (h *Host) patience() time.Duration {
	if h.Patience > 0 {
		return h.Patience
	}
	return 90 * time.Second
}

// own is the living process whose own home this is, if there is one. Implements the comparison of G-285.
func (h *Host) own() (host.PIDRecord, bool) {
	r, ok := host.ReadPIDFile(h.Launch.Home)
	if !ok || host.ProcessLiveness(r.Process()) == host.Dead {
		return host.PIDRecord{}, false
	}
	return r, true
}

// Own is the living process whose own home this is, whoever serves the profile.
func (h *Host) Own() (attach.Owner, bool) {
	r, ok := h.own()
	if !ok {
		return attach.Owner{}, false
	}
	return processOf(r), true
}

// OptedOut reports whether the profile keeps a gateway of its own by its configuration.
func (h *Host) OptedOut() bool {
	roster, err := gateway.Roster(h.Launch.Root)
	if err != nil {
		return false
	}
	for _, i := range roster {
		if i.Name == h.Launch.Name {
			return i.OptedOut && i.Name != home.DefaultProfile
		}
	}
	return false
}

// HasOwnGateway reports whether the profile has a gateway of its own: a process, a service, or the wish for one.
func (h *Host) HasOwnGateway() bool {
	_, running := h.own()
	return running || h.Services.Installed(h.Launch.Name) || h.OptedOut()
}

// NamedGuard refuses to make a second gateway for a named profile by accident. Implements G-273.
func NamedGuard(profile string, own, force bool) error {
	if profile == home.DefaultProfile || own || force {
		return nil
	}
	return coded(attach.ExitConfiguration,
		"profile %s has no gateway of its own: the gateway of this host serves it, start that with hermes gateway start; --force makes a second one", profile)
}

// servedElsewhere is the owner when another process, launched for another home, serves the profile. Implements G-285.
func (h *Host) servedElsewhere(ctx context.Context) (*attach.Owner, attach.ServedSet) {
	owner, served := h.Prober.Probe(ctx, false)
	if owner == nil || host.SameHome(owner.Home, h.Launch.Home) {
		return nil, served
	}
	return owner, served
}

// Attached refuses when another process serves the profile or may do so; nil means go on. Implements the guard of G-280.
func (h *Host) Attached(ctx context.Context, force bool) error {
	d := h.Prober.Decide(ctx, attach.Request{Profile: h.Launch.Name, Root: h.Launch.Root, Force: force, OptedOut: h.OptedOut()})
	for i, line := range attach.Explain(d, h.Launch.Name) {
		if i > 0 || d.Outcome != attach.Refuse {
			h.say("%s", line)
		}
	}
	code, ends := attach.ExitCode(d, false)
	switch {
	case !ends:
		return nil
	case code == attach.ExitOK:
		return errAttached
	default:
		return coded(code, "%s", attach.Explain(d, h.Launch.Name)[0])
	}
}

// errAttached ends a verb that has nothing to do because another process serves the profile.
var errAttached = errors.New("attached")

// IsAttached reports whether a verb ended because the profile is served already.
func IsAttached(err error) bool { return errors.Is(err, errAttached) }

// refuseDeclared keeps the verbs away from a home root that a declared gateway serves: its operator would undo them.
func (h *Host) refuseDeclared(ctx context.Context) error {
	owner, _ := h.Prober.Probe(ctx, false)
	if owner == nil || !owner.Declared {
		return nil
	}
	return coded(attach.ExitConfiguration,
		"pid %d serves %s as declared: use hermes gateway restart NAME, spec.suspended of a Profile, or hermes down", owner.PID, owner.Home)
}

func processOf(r host.PIDRecord) attach.Owner {
	return attach.Owner{PID: r.PID, Home: r.HermesHome, Profile: home.ForHome(r.HermesHome).Name, StartTime: r.StartTime}
}

// marker is where a profile's parking is remembered.
func (h *Host) marker() string {
	return h.Launch.Home + string(os.PathSeparator) + gateway.ParkedFileName
}
