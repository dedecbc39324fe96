package node

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/home"
)

// storeReportInterval is how often a busy profile's store figures are written at most.
const storeReportInterval = 30 * time.Second

// report writes what is known of an open profile. Health goes out at once; the
// store's figures of a busy profile at most every storeReportInterval.
func (a *profileAgent) report(ctx context.Context, p *v1alpha1.Profile, paths home.Paths, hash string) (ctrl.Result, error) {
	h, ok := a.Profiles.Health(p.Name)
	if !ok {
		return ctrl.Result{}, nil // closed meanwhile; its closing starts another pass
	}
	c := metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServed, Message: h.Message}
	if c.Message == "" {
		c.Message = "open"
	}
	if h.Reason != "" {
		c.Status, c.Reason = metav1.ConditionFalse, h.Reason
	}
	store, again := a.storeFigures(p, h.Store)
	err := a.writeServed(ctx, p, c, map[string]any{
		"gateway": v1alpha1.ProfileGatewayStatus{Name: a.Gateway, Instance: a.Instance, HomeHash: hash, Home: paths.Home},
		"store":   store,
	})
	return ctrl.Result{RequeueAfter: again}, err
}

// storeFigures returns the store figures to report now and, when newer ones have to wait, how long.
func (a *profileAgent) storeFigures(p *v1alpha1.Profile, now *v1alpha1.StoreStatus) (*v1alpha1.StoreStatus, time.Duration) {
	last := p.Status.Store
	if now == nil || last.Equal(now) {
		return last, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.written[p.Name]
	if wait := w.reported.Add(storeReportInterval).Sub(a.Clock.Now()); last != nil && wait > 0 {
		return last, wait
	}
	w.reported = a.Clock.Now()
	a.written[p.Name] = w
	return now, 0
}

// writeServed applies the agent's part of a Profile's status when it differs.
// Without fields the gateway part says only which gateway speaks.
func (a *profileAgent) writeServed(ctx context.Context, p *v1alpha1.Profile, c metav1.Condition, fields map[string]any) error {
	c.ObservedGeneration = p.Generation
	if fields == nil {
		fields = map[string]any{
			"gateway": v1alpha1.ProfileGatewayStatus{Name: a.Gateway, Instance: a.Instance},
			"store":   p.Status.Store,
		}
	}
	w := ssa.StatusWriter{
		Client: a.client, Manager: Manager, Now: a.Clock.Now,
		Owned: ssa.Owned{ConditionTypes: []string{v1alpha1.ConditionServed, v1alpha1.ConditionBackedUp}, Fields: []string{"gateway", "store"}},
	}
	_, err := w.Write(ctx, p, append([]metav1.Condition{c}, a.backedUp(p)...), fields)
	return client.IgnoreNotFound(err)
}
