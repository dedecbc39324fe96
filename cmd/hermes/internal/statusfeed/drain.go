package statusfeed

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"hermes.dev/hermes/cmd/hermes/internal/kube"
)

// DrainTimeouts lists the drainTimeout of every Gateway. It is empty when the control plane does not answer:
// the callers stop things, and must be able to do so without it.
func DrainTimeouts(ctx context.Context, cfg *rest.Config) []time.Duration {
	client, err := kube.HermesClient(cfg)
	if err != nil {
		return nil
	}
	snapshot, err := List(ctx, client, Query{Kind: "Gateway"})
	if err != nil {
		return nil
	}
	var out []time.Duration
	for _, g := range snapshot.Gateways {
		if g.Spec.DrainTimeout != nil {
			out = append(out, g.Spec.DrainTimeout.Duration)
		}
	}
	return out
}
