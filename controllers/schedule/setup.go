package schedule

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"hermes.dev/hermes/api/v1alpha1"
)

const indexProfile = "hermes.spec.profileRef.name"

// SetupWithManager registers the reconciler: it runs when a Schedule or the gateway's report on it changes, and when its
// Profile comes, goes, or is opened or closed. Indexing makes the cache of Schedules, which profileToSchedules reads.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Schedule{}, indexProfile, func(o client.Object) []string {
		return []string{o.(*v1alpha1.Schedule).Spec.ProfileRef.Name}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("schedule").
		For(&v1alpha1.Schedule{}, builder.WithPredicates(scheduleChanged())).
		Watches(&v1alpha1.Profile{}, handler.EnqueueRequestsFromMapFunc(r.profileToSchedules), builder.WithPredicates(profileChanged())).
		WithOptions(o).
		Complete(r)
}

func (r *Reconciler) profileToSchedules(ctx context.Context, p client.Object) []reconcile.Request {
	var list v1alpha1.ScheduleList
	if err := r.Client.List(ctx, &list, client.InNamespace(p.GetNamespace()), client.MatchingFields{indexProfile: p.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list schedules", "profile", p.GetName())
		return nil
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}

// scheduleChanged lets through the spec and the gateway's report; not our own status.
func scheduleChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, aok := e.ObjectOld.(*v1alpha1.Schedule)
		b, bok := e.ObjectNew.(*v1alpha1.Schedule)
		return !aok || !bok || a.UID != b.UID || a.Generation != b.Generation ||
			reported(a.Status.Conditions, v1alpha1.ConditionScheduled) != reported(b.Status.Conditions, v1alpha1.ConditionScheduled)
	}}
}

func profileChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		a, aok := e.ObjectOld.(*v1alpha1.Profile)
		b, bok := e.ObjectNew.(*v1alpha1.Profile)
		return !aok || !bok || a.UID != b.UID || a.Spec.Suspended != b.Spec.Suspended ||
			served(a) != served(b)
	}}
}

// served is what a pass reads of condition Served: not its message, which tells more than a Schedule needs.
func served(p *v1alpha1.Profile) report {
	r := reported(p.Status.Conditions, v1alpha1.ConditionServed)
	r.message, r.generation = "", 0
	return r
}

type report struct {
	status          metav1.ConditionStatus
	reason, message string
	generation      int64
}

func reported(list []metav1.Condition, conditionType string) report {
	c := meta.FindStatusCondition(list, conditionType)
	if c == nil {
		return report{}
	}
	return report{c.Status, c.Reason, c.Message, c.ObservedGeneration}
}
