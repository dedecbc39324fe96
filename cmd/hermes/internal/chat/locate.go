package chat

import (
	"context"
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
	"hermes.dev/hermes/runtime/localapi"
)

// defaultProfile is the profile that is meant when there are several and none is named.
const defaultProfile = "default"

// Target is where a profile answers.
type Target struct {
	// Profile and Gateway are names of objects; Gateway is "" when a socket was named instead.
	Profile, Gateway string
	// Socket is the path of the gateway's API socket.
	Socket string
}

// Locate finds the socket at which a profile answers. profile "" means the only one, or the one named default.
func Locate(ctx context.Context, client rest.Interface, namespace, profile string, now time.Time) (Target, error) {
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
	profiles.Gateways = gateways.Gateways
	return choose(profiles, namespace, profile, now)
}

// choose is Locate over what was read.
func choose(s statusview.Snapshot, namespace, profile string, now time.Time) (Target, error) {
	names := make([]string, len(s.Profiles))
	for i := range s.Profiles {
		names[i] = s.Profiles[i].Name
	}
	name, err := pick(names, profile, "in namespace "+namespace)
	if err != nil {
		return Target{}, err
	}
	if err := checkReady(s, name, now); err != nil {
		return Target{}, err
	}
	p := &s.Profiles[slices.Index(names, name)]
	gateway := p.Spec.GatewayRef.Name
	if gateway == "" {
		gateway = v1alpha1.DefaultGatewayName
	}
	i := slices.IndexFunc(s.Gateways, func(g v1alpha1.Gateway) bool { return g.Name == gateway })
	if i < 0 || s.Gateways[i].Status.Instance == nil {
		return Target{}, fmt.Errorf("gateway %s of profile %s does not run: see hermes status gateway/%s", gateway, name, gateway)
	}
	instance := s.Gateways[i].Status.Instance
	if instance.APISocket == "" {
		return Target{}, fmt.Errorf("gateway %s of profile %s has no API socket on this machine: hermes chat reaches gateways of engine Process", gateway, name)
	}
	return Target{Profile: name, Gateway: gateway, Socket: instance.APISocket}, nil
}

// pick decides which profile is meant.
func pick(names []string, wanted, where string) (string, error) {
	slices.Sort(names)
	switch {
	case wanted != "" && !slices.Contains(names, wanted):
		return "", fmt.Errorf("there is no profile %q %s%s", wanted, where, known(names))
	case wanted != "":
		return wanted, nil
	case len(names) == 0:
		return "", fmt.Errorf("there is no profile %s: declare one with hermes apply", where)
	case len(names) == 1:
		return names[0], nil
	case slices.Contains(names, defaultProfile):
		return defaultProfile, nil
	}
	return "", exit.Usagef("which profile? name it with -p%s", known(names))
}

func known(names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 10
	if len(names) > most {
		return fmt.Sprintf(": %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return ": " + strings.Join(names, ", ")
}

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
		if row.Reason == v1alpha1.ReasonModelRefused || row.Reason == v1alpha1.ReasonModelUnreachable {
			return nil // said of the last turn: the next one may succeed, and only that shows it
		}
		text := fmt.Sprintf("profile %s is not ready: %s", name, row.State)
		if row.Remedy != "" {
			text += " → " + row.Remedy
		}
		return fmt.Errorf("%s", text)
	}
	return fmt.Errorf("there is no profile %q", name)
}

// PickServed is the choice of a profile among those that a gateway serves.
func PickServed(ctx context.Context, client *localapi.Client, wanted, socket string) (string, error) {
	names, err := client.Models(ctx)
	if err != nil {
		return "", err
	}
	return pick(names, wanted, "at "+socket)
}
