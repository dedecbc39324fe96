package chat

import (
	"context"
	"slices"

	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
)

// Data is where a profile's data is looked after, whether or not the profile is ready to talk.
type Data struct {
	Target
	// Home is the profile's directory on the gateway's machine; "" before a gateway has written it.
	Home string
}

// LocateData finds a profile's data. Its Socket is "" when its gateway does not run.
func LocateData(ctx context.Context, client rest.Interface, namespace, profile string) (Data, error) {
	s, err := statusfeed.List(ctx, client, statusfeed.Query{Namespace: namespace, Kind: "Profile"})
	if err != nil {
		return Data{}, err
	}
	names := make([]string, len(s.Profiles))
	for i := range s.Profiles {
		names[i] = s.Profiles[i].Name
	}
	name, err := pick(names, profile, "in namespace "+namespace)
	if err != nil {
		return Data{}, err
	}
	p := s.Profiles[slices.Index(names, name)]
	found := Data{Target: Target{Profile: name, Gateway: p.Spec.GatewayRef.Name}}
	if found.Gateway == "" {
		found.Gateway = v1alpha1.DefaultGatewayName
	}
	if p.Status.Gateway != nil {
		found.Home = p.Status.Gateway.Home
	}
	gateways, err := statusfeed.List(ctx, client, statusfeed.Query{Namespace: namespace, Kind: "Gateway"})
	if err != nil {
		return Data{}, err
	}
	for _, g := range gateways.Gateways {
		if g.Name == found.Gateway && g.Status.Instance != nil {
			found.Socket = g.Status.Instance.APISocket
		}
	}
	return found, nil
}
