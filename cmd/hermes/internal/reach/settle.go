package reach

import (
	"cmp"
	"context"
	"time"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

const (
	// settlePatience is how long a verb waits for a gateway that is between two processes.
	settlePatience = 5 * time.Second
	// settleEvery is how often it looks again meanwhile.
	settleEvery = 200 * time.Millisecond
)

// look is one look at what is declared. The error says why the target cannot be used; between says that it may be usable
// soon, because a gateway starts, drains, or has not reported yet.
type look func(context.Context) (t Target, between bool, err error)

// settle looks until what is declared is not between two states, for settlePatience at most. What takes longer has the
// exit code that says so.
func (f Finder) settle(ctx context.Context, look look) (Target, error) {
	give := f.Clock.Now().Add(settlePatience)
	for {
		t, between, err := look(ctx)
		switch {
		case !between:
			return t, err
		case f.Clock.Now().Before(give):
		case err != nil:
			return t, exit.Busyf("%w", err)
		default:
			return t, exit.Busyf("gateway %s of profile %s is starting or stopping: try again in a few seconds", t.Gateway, t.Profile)
		}
		select {
		case <-ctx.Done():
			return Target{}, context.Cause(ctx)
		case <-f.Clock.After(settleEvery):
		}
	}
}

// betweenStates reports whether waiting a little may make a profile usable: its gateway starts or drains, or, for a verb
// that needs the profile to answer, the gateway runs and has not said so yet. What stands still is not waited for.
func betweenStates(s statusview.Snapshot, name string, need Need, now time.Time) bool {
	gateway := ""
	for i := range s.Profiles {
		if p := &s.Profiles[i]; p.Name == name && !p.Spec.Suspended {
			gateway = cmp.Or(p.Spec.GatewayRef.Name, v1alpha1.DefaultGatewayName)
		}
	}
	if gateway == "" {
		return false
	}
	var ofProfile, ofGateway statusview.Verdict
	moving := false
	for _, row := range statusview.New(s, statusview.ControlPlane{}, now).Rows {
		switch {
		case row.Kind == "Profile" && row.Name == name:
			ofProfile = row.Verdict
		case row.Kind == "Gateway" && row.Name == gateway:
			ofGateway = row.Verdict
			moving = row.Reason == v1alpha1.ReasonStarting || row.Reason == v1alpha1.ReasonDraining
		}
	}
	return moving && !(need.Ready && ofProfile == statusview.NotReady) ||
		need.Ready && ofGateway == statusview.Ready && ofProfile == statusview.Progressing
}
