package node

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
)

const (
	// maxListed is how many served profiles a Gateway's status names; the count is always whole.
	maxListed = 256
	// servedFirst and servedMost space out writes of a served set that keeps changing: one
	// change shows at once, and opening a thousand profiles is a handful of writes.
	servedFirst = 250 * time.Millisecond
	servedMost  = 2 * time.Second
)

// gatewayAgent reports the served set of this gateway.
type gatewayAgent struct {
	Options
	client  client.Client
	changed chan event.GenericEvent

	// last is when the set was last written, streak how many times in a row without a pause.
	last   time.Time
	streak int
}

// pause is how long after the last write the next one may come: doubling from
// servedFirst to servedMost while changes keep coming.
func pause(streak int) time.Duration {
	return min(servedFirst<<min(streak, 10), servedMost)
}

func (a *gatewayAgent) setup(mgr ctrl.Manager) error {
	a.changed = make(chan event.GenericEvent, 1)
	self := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: a.Namespace, Name: a.Gateway}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("node-gateway").
		For(&v1alpha1.Gateway{}, builder.WithPredicates(servedCountChanged())).
		WatchesRawSource(source.Channel(a.changed, self)).
		Complete(a)
}

func servedCountChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, aok := e.ObjectOld.(*v1alpha1.Gateway)
		b, bok := e.ObjectNew.(*v1alpha1.Gateway)
		return !aok || !bok || a.UID != b.UID || valueOf(a.Status.ServedProfiles) != valueOf(b.Status.ServedProfiles)
	}}
}

func valueOf(n *int32) int32 {
	if n == nil {
		return -1
	}
	return *n
}

// poke asks for another look at the served set. It never blocks: one that is waiting already sees this change too.
func (a *gatewayAgent) poke() {
	select {
	case a.changed <- event.GenericEvent{Object: &v1alpha1.Gateway{}}:
	default:
	}
}

// Reconcile reports the served set. One worker runs it.
func (a *gatewayAgent) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	gw := &v1alpha1.Gateway{}
	if err := a.client.Get(ctx, req.NamespacedName, gw); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	now := a.Clock.Now()
	if now.Sub(a.last) > servedMost {
		a.streak = 0
	}
	if wait := a.last.Add(pause(a.streak)).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	served := a.Profiles.Served()
	listed := served[:min(len(served), maxListed)]
	w := ssa.StatusWriter{
		Client: a.client, Manager: Manager, Now: a.Clock.Now,
		Owned: ssa.Owned{Fields: []string{"servedProfiles", "profiles"}},
	}
	fields := map[string]any{"servedProfiles": len(served)}
	if len(listed) > 0 {
		fields["profiles"] = listed
	}
	wrote, err := w.Write(ctx, gw, nil, fields)
	if wrote {
		a.last = now
		a.streak++
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
