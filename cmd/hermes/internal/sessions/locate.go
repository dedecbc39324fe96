package sessions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/chat"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
	"hermes.dev/hermes/runtime/home"
)

// Target is where the sessions of a profile are.
type Target struct {
	Profile string
	// Gateway is the name of the Gateway; "" when a directory was named instead.
	Gateway string
	// Root is the home root on this machine.
	Root string
	// Socket is where the gateway said that it answers; "" when it does not run.
	Socket string
}

// Locate finds a profile by what is declared. profile "" means the only one, or the one named default.
func Locate(ctx context.Context, client rest.Interface, namespace, profile string) (Target, error) {
	var profiles, gateways statusview.Snapshot
	group, ctx := errgroup.WithContext(ctx)
	for kind, into := range map[string]*statusview.Snapshot{"Profile": &profiles, "Gateway": &gateways} {
		group.Go(func() (err error) {
			*into, err = statusfeed.List(ctx, client, statusfeed.Query{Namespace: namespace, Kind: kind})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Target{}, err
	}
	return choose(profiles.Profiles, gateways.Gateways, namespace, profile)
}

// choose is Locate over what was read.
func choose(profiles []v1alpha1.Profile, gateways []v1alpha1.Gateway, namespace, wanted string) (Target, error) {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].Name
	}
	name, err := chat.PickProfile(slices.Clone(names), wanted, "in namespace "+namespace)
	if err != nil {
		return Target{}, err
	}
	gateway := profiles[slices.Index(names, name)].Spec.GatewayRef.Name
	if gateway == "" {
		gateway = v1alpha1.DefaultGatewayName
	}
	i := slices.IndexFunc(gateways, func(g v1alpha1.Gateway) bool { return g.Name == gateway })
	if i < 0 {
		return Target{}, fmt.Errorf("there is no gateway %s, which profile %s names: see hermes status profile/%s", gateway, name, name)
	}
	g := &gateways[i]
	if g.Spec.Engine == v1alpha1.EngineKubernetes {
		return Target{}, fmt.Errorf("the sessions of profile %s are in the pod of gateway %s: run hermes sessions there, with --home", name, gateway)
	}
	t := Target{Profile: name, Gateway: gateway, Root: g.Status.Home}
	if g.Status.Instance != nil {
		t.Socket = g.Status.Instance.APISocket
	}
	if t.Root == "" && t.Socket == "" {
		return Target{}, fmt.Errorf("gateway %s of profile %s has never run: see hermes status gateway/%s", gateway, name, gateway)
	}
	return t, nil
}

// LocateHome finds a profile below a home root.
func LocateHome(root, profile string) (Target, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return Target{}, fmt.Errorf("--home: %w", err)
	}
	if _, err := os.Stat(root); err != nil {
		return Target{}, fmt.Errorf("--home: %w", err)
	}
	all, err := home.List(root)
	if err != nil {
		return Target{}, err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	name, err := chat.PickProfile(names, profile, "below "+root)
	return Target{Profile: name, Root: root}, err
}

// LocateOffline finds a profile without a control plane, in the default homes of a data directory, DIR/NAMESPACE/NAME.
// ok is false when no home is there.
func LocateOffline(dir, namespace, profile string) (target Target, ok bool, err error) {
	roots, err := os.ReadDir(filepath.Join(dir, namespace))
	if err != nil {
		return Target{}, false, nil // no gateway has ever run there
	}
	found := map[string]Target{}
	var names []string
	for _, entry := range roots {
		root := filepath.Join(dir, namespace, entry.Name())
		all, err := home.List(root)
		if err != nil {
			return Target{}, false, err
		}
		for _, p := range all {
			if _, seen := found[p.Name]; !seen {
				found[p.Name] = Target{Profile: p.Name, Gateway: entry.Name(), Root: root}
				names = append(names, p.Name)
			}
		}
	}
	if len(names) == 0 {
		return Target{}, false, nil
	}
	name, err := chat.PickProfile(names, profile, "in the homes of namespace "+namespace)
	return found[name], err == nil, err
}
