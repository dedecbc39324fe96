package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusfeed"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// servedBy names the profiles that a gateway serves.
func servedBy(ctx context.Context, api rest.Interface, namespace, gateway string) ([]string, error) {
	s, err := statusfeed.List(ctx, api, statusfeed.Query{Namespace: namespace, Kind: "Profile"})
	var names []string
	for i := range s.Profiles {
		p := &s.Profiles[i]
		if p.Status.Gateway != nil && p.Status.Gateway.Name == gateway && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionServed) {
			names = append(names, p.Name)
		}
	}
	return names, err
}

// awaitServedAgain watches until a run of a gateway has taken over all of the profiles. Those that it cannot serve are the
// error; the code of the error says when time ran out.
func awaitServedAgain(ctx context.Context, api rest.Interface, run *v1alpha1.Gateway, names []string) error {
	if len(names) == 0 {
		return nil
	}
	var waiting, broken []string
	err := statusfeed.Watch(ctx, api, statusfeed.Query{Namespace: run.Namespace, Kind: "Profile"}, func(s statusview.Snapshot) bool {
		waiting, broken = servedAgain(s, run, names)
		return len(waiting) > 0
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return exit.Busyf("gateway/%s runs and does not serve %s yet: see hermes status", run.Name, strings.Join(waiting, ", "))
	case err != nil:
		return err
	case len(broken) > 0:
		return fmt.Errorf("gateway/%s does not serve every profile again: %s", run.Name, strings.Join(broken, "; "))
	}
	return nil
}

// servedAgain tells the profiles that a run of a gateway has not reported on from those that it cannot serve, with why. One
// that is gone, suspended or given to another gateway meanwhile is neither.
func servedAgain(s statusview.Snapshot, run *v1alpha1.Gateway, names []string) (waiting, broken []string) {
	for _, row := range statusview.New(s, statusview.ControlPlane{}, time.Time{}).Rows {
		i := slices.IndexFunc(s.Profiles, func(p v1alpha1.Profile) bool { return row.Kind == "Profile" && p.Name == row.Name })
		if i < 0 || !slices.Contains(names, row.Name) {
			continue
		}
		p := &s.Profiles[i]
		switch reporter := p.Status.Gateway; {
		case p.Spec.Suspended || p.DeletionTimestamp != nil || cmp.Or(p.Spec.GatewayRef.Name, v1alpha1.DefaultGatewayName) != run.Name:
		case reporter == nil || reporter.Instance != run.Status.Instance.ID || row.Verdict == statusview.Progressing:
			waiting = append(waiting, row.Name)
		case !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionServed):
			broken = append(broken, row.Name+" ("+row.State+")")
		}
	}
	return waiting, broken
}
