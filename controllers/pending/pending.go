// Package pending reports on the kinds that this version accepts and does not
// act on yet, so that nobody waits for something that will not happen: their
// Ready condition says so, and says when their profile does not exist.
package pending

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// Kind is one kind this package reports on.
type Kind struct {
	// Name of the controller.
	Name string
	// Condition that would say what the kind does.
	Condition string
	// New returns an empty object.
	New func() client.Object
	// NewList returns an empty list.
	NewList func() client.ObjectList
	// Profile returns the name of the Profile an object refers to.
	Profile func(client.Object) string
	// Status returns an object's conditions.
	Status func(client.Object) []metav1.Condition
}

// Kinds lists the kinds without behaviour.
func Kinds() []Kind {
	return []Kind{
		{
			Name: "relayidentity", Condition: v1alpha1.ConditionProvisioned,
			New:     func() client.Object { return &v1alpha1.RelayIdentity{} },
			NewList: func() client.ObjectList { return &v1alpha1.RelayIdentityList{} },
			Profile: func(o client.Object) string { return o.(*v1alpha1.RelayIdentity).Spec.ProfileRef.Name },
			Status:  func(o client.Object) []metav1.Condition { return o.(*v1alpha1.RelayIdentity).Status.Conditions },
		},
		{
			Name: "metricsconsent", Condition: v1alpha1.ConditionRecorded,
			New:     func() client.Object { return &v1alpha1.MetricsConsent{} },
			NewList: func() client.ObjectList { return &v1alpha1.MetricsConsentList{} },
			Profile: func(o client.Object) string { return o.(*v1alpha1.MetricsConsent).Spec.ProfileRef.Name },
			Status:  func(o client.Object) []metav1.Condition { return o.(*v1alpha1.MetricsConsent).Status.Conditions },
		},
	}
}

// Reconciler reports on one kind.
type Reconciler struct {
	Kind
	// Client reads from a cache and writes.
	Client client.Client
	// Events records events.
	Events events.EventRecorder
	// Clock stamps condition transitions.
	Clock clock.PassiveClock

	latest ssa.Latest
}

// Reconcile writes the one finding there is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := r.New()
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		r.latest.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.latest.Refresh(o)
	if !o.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	f, err := r.finding(ctx, o)
	if err != nil {
		return ctrl.Result{}, err
	}
	conds := conditions.Summarise(o.GetGeneration(), "", f)
	w := ssa.StatusWriter{
		Client: r.Client, Manager: "hermes-" + r.Name, Now: r.Clock.Now, Latest: &r.latest,
		Owned: ssa.Owned{
			ConditionTypes: []string{r.Condition, v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled},
			Fields:         []string{"observedGeneration"},
		},
	}
	if _, err := w.Write(ctx, o, conds, map[string]any{"observedGeneration": o.GetGeneration()}); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if e := conditions.Transition(r.Status(o), conds); e != nil {
		r.Events.Eventf(o, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) finding(ctx context.Context, o client.Object) (conditions.Finding, error) {
	name := r.Profile(o)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, &v1alpha1.Profile{})
	switch {
	case apierrors.IsNotFound(err):
		return conditions.Stalled(r.Condition, v1alpha1.ReasonProfileNotFound,
			fmt.Sprintf("Profile %q does not exist in namespace %s: create it, or name another one in spec.profileRef.name", name, o.GetNamespace())), nil
	case err != nil:
		return conditions.Finding{}, err
	default:
		return conditions.Stalled(r.Condition, v1alpha1.ReasonNotImplemented,
			"this version of hermes stores the object and does not act on it yet"), nil
	}
}

// SetupWithManager registers the reconciler. Its kind is cached before anything starts: the watches of a
// controller start in any order, and a Profile that is seen first makes ofProfile list the kind.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, o controller.Options) error {
	if _, err := mgr.GetCache().GetInformer(ctx, r.New(), cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("cache %s: %w", r.Name, err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(r.Name).
		For(r.New(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Profile{}, handler.EnqueueRequestsFromMapFunc(r.ofProfile), builder.WithPredicates(cameOrWent())).
		WithOptions(o).
		Complete(r)
}

func cameOrWent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

func (r *Reconciler) ofProfile(ctx context.Context, p client.Object) []reconcile.Request {
	list := r.NewList()
	if err := r.Client.List(ctx, list, client.InNamespace(p.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list", "kind", r.Name)
		return nil
	}
	var out []reconcile.Request
	for _, o := range objects(list) {
		if r.Profile(o) == p.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}
	return out
}

func objects(list client.ObjectList) []client.Object {
	var out []client.Object
	switch l := list.(type) {
	case *v1alpha1.RelayIdentityList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	case *v1alpha1.MetricsConsentList:
		for i := range l.Items {
			out = append(out, &l.Items[i])
		}
	}
	return out
}
