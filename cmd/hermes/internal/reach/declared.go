package reach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/home"
)

// declared asks the control plane where a profile is.
func (f Finder) declared(ctx context.Context, wanted string, need Need) (Target, error) {
	client, api, namespace, err := f.API()
	if err != nil {
		return Target{}, err
	}
	return f.settle(ctx, func(ctx context.Context) (Target, bool, error) {
		s, err := readDeclared(ctx, api, namespace)
		if err != nil {
			return Target{}, false, client.Explain(err)
		}
		now := f.Clock.Now()
		t, err := chooseDeclared(s, namespace, wanted, need, now)
		between := betweenStates(s, t.Profile, need, now)
		if between && !need.Ready && t.Socket != "" && slices.Contains(servedAt(ctx, t.Socket, t.Gateway), t.Profile) {
			between = false // it drains, and answers
		}
		return t, between, err
	})
}

// readDeclared reads what the choice of a profile needs.
func readDeclared(ctx context.Context, api rest.Interface, namespace string) (statusview.Snapshot, error) {
	var profiles, gateways statusview.Snapshot
	group, ctx := errgroup.WithContext(ctx)
	for kind, into := range map[string]*statusview.Snapshot{"Profile": &profiles, "Gateway": &gateways} {
		group.Go(func() (err error) {
			*into, err = statusfeed.List(ctx, api, statusfeed.Query{Namespace: namespace, Kind: kind})
			return err
		})
	}
	err := group.Wait()
	profiles.Gateways = gateways.Gateways
	return profiles, err
}

// chooseDeclared is declared over what was read. With an error, the target is the profile that was chosen, if one was.
func chooseDeclared(s statusview.Snapshot, namespace, wanted string, need Need, now time.Time) (Target, error) {
	names := make([]string, len(s.Profiles))
	for i := range s.Profiles {
		names[i] = s.Profiles[i].Name
	}
	name, err := Pick(names, wanted, "in namespace "+namespace)
	if err != nil {
		return Target{}, err
	}
	if need.Ready {
		if err := checkReady(s, name, now); err != nil {
			return Target{Profile: name}, err
		}
	}
	p := &s.Profiles[slices.Index(names, name)]
	t := Target{Profile: name, Gateway: cmp.Or(p.Spec.GatewayRef.Name, v1alpha1.DefaultGatewayName)}
	var gateway *v1alpha1.Gateway
	if i := slices.IndexFunc(s.Gateways, func(g v1alpha1.Gateway) bool { return g.Name == t.Gateway }); i >= 0 {
		gateway = &s.Gateways[i]
	}
	place(&t, p, gateway)
	return t, missing(t, gateway, need)
}

// place fills in where the gateway answers and where the home is: where the profile's gateway says that it has it, else
// where it belongs below the gateway's root.
func place(t *Target, p *v1alpha1.Profile, g *v1alpha1.Gateway) {
	if g != nil {
		t.Root = g.Status.Home
		if g.Status.Instance != nil {
			t.Socket = g.Status.Instance.APISocket
		}
	}
	served := p.Status.Gateway
	if served != nil && served.Home != "" && (t.Root == "" || served.Name == t.Gateway) {
		t.Home = served.Home
		t.Root = cmp.Or(t.Root, home.ForHome(served.Home).Root)
	} else if t.Root != "" {
		if paths, err := home.ForProfile(t.Root, t.Profile); err == nil {
			t.Home = paths.Home
		}
	}
}

// missing says what a target lacks for what is needed.
func missing(t Target, g *v1alpha1.Gateway, need Need) error {
	switch {
	case need.Ready && (g == nil || g.Status.Instance == nil):
		return fmt.Errorf("gateway %s of profile %s does not run: see hermes status gateway/%s", t.Gateway, t.Profile, t.Gateway)
	case need.Ready && t.Socket == "":
		return fmt.Errorf("gateway %s of profile %s has no API socket on this machine: hermes chat reaches gateways of engine Process", t.Gateway, t.Profile)
	case g != nil && g.Spec.Engine == v1alpha1.EngineKubernetes && t.Socket == "":
		return fmt.Errorf("the data of profile %s is in the pod of gateway %s: run the command there, with --home", t.Profile, t.Gateway)
	case g == nil && t.Home == "":
		return fmt.Errorf("there is no gateway %s, which profile %s names: see hermes status profile/%s", t.Gateway, t.Profile, t.Profile)
	case t.Home == "" && t.Socket == "":
		return fmt.Errorf("gateway %s of profile %s has never run: see hermes status gateway/%s", t.Gateway, t.Profile, t.Gateway)
	}
	return nil
}

// heldByProcess tells a process that has the store open, which may end, from another Profile that owns the home, which
// only a change of the declarations cures. One reason stands for both; the words are those of store.BusyError.
func heldByProcess(message string) bool { return strings.Contains(message, " is in use by ") }

// checkReady says why a profile does not answer, and what to do, in the words of hermes status.
func checkReady(s statusview.Snapshot, name string, now time.Time) error {
	for _, row := range statusview.New(s, statusview.ControlPlane{}, now).Rows {
		if row.Kind != "Profile" || row.Name != name {
			continue
		}
		switch row.Verdict {
		case statusview.Ready:
			return nil
		case statusview.Suspended:
			return fmt.Errorf("profile %s is suspended: set spec.suspended to false", name)
		}
		switch row.Reason {
		case v1alpha1.ReasonModelRefused, v1alpha1.ReasonModelUnreachable, v1alpha1.ReasonStoreUnavailable:
			return nil // said of the last turn: the next one may succeed, and only that shows it
		}
		text := strings.TrimSuffix(fmt.Sprintf("profile %s is not ready: %s → %s", name, row.State, row.Remedy), " → ")
		if row.Reason == v1alpha1.ReasonHomeInUse && heldByProcess(row.State) {
			return exit.Busyf("%s", text)
		}
		return errors.New(text)
	}
	return fmt.Errorf("there is no profile %q", name)
}
