package gateway

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// SetupWithManager registers the reconciler: it runs when a Gateway's spec,
// annotations or deletion changes, when its engine observes a change, and when
// another Gateway that may hold a clashing claim comes or goes.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, o controller.Options) error {
	changes := make(chan event.GenericEvent)
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return forward(ctx, r.Engines, changes) })); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("gateway").
		For(&v1alpha1.Gateway{}, builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, finalizersChanged()))).
		Watches(&v1alpha1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.others), builder.WithPredicates(claimsChanged())).
		WatchesRawSource(source.Channel(changes, &handler.EnqueueRequestForObject{})).
		WithOptions(o).
		Complete(r)
}

// forward turns engine announcements into reconcile requests until ctx ends.
func forward(ctx context.Context, engines map[v1alpha1.EngineType]engine.Engine, out chan<- event.GenericEvent) error {
	done := make(chan struct{})
	for _, eng := range engines {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				select {
				case <-ctx.Done():
					return
				case ref, ok := <-eng.Changes():
					if !ok {
						return
					}
					gw := &v1alpha1.Gateway{}
					gw.Namespace, gw.Name = ref.Namespace, ref.Name
					select {
					case out <- event.GenericEvent{Object: gw}:
					case <-ctx.Done():
						return
					}
				}
			}
		}()
	}
	for range engines {
		<-done
	}
	return nil
}

// others enqueues every other Gateway: one of them may have waited for this claim.
func (r *Reconciler) others(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.GatewayList
	if err := r.Client.List(ctx, &all); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list gateways")
		return nil
	}
	var out []reconcile.Request
	for i := range all.Items {
		gw := &all.Items[i]
		if gw.UID != o.GetUID() && clash(r.ResolvePath(HomeOf(gw, r.HomeRoot)), r.ResolvePath(HomeOf(o.(*v1alpha1.Gateway), r.HomeRoot))) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(gw)})
		}
	}
	return out
}

func claimsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}}
}

func finalizersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) || e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}
