package schedule

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// Manager is the field manager of everything this reconciler writes.
const Manager = "hermes-schedule"

// Reconciler reports on Schedules.
type Reconciler struct {
	// Client reads from a cache and writes.
	Client client.Client
	// Events records events.
	Events events.EventRecorder
	// Clock stamps condition transitions.
	Clock clock.PassiveClock

	latest ssa.Latest
}

// Reconcile makes one pass over a Schedule.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s := &v1alpha1.Schedule{}
	if err := r.Client.Get(ctx, req.NamespacedName, s); err != nil {
		r.latest.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.latest.Refresh(s)
	if !s.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // nothing holds it back: its gateway removes the job when it sees it gone
	}
	p := &v1alpha1.Profile{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Spec.ProfileRef.Name}, p)
	switch {
	case apierrors.IsNotFound(err):
		p = nil
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.summarise(ctx, s, p)
}

func (r *Reconciler) summarise(ctx context.Context, s *v1alpha1.Schedule, p *v1alpha1.Profile) error {
	message := "scheduled"
	found := findings(s, p)
	if last := found[len(found)-1]; last.Reason == v1alpha1.ReasonCompleted {
		message = last.Message
	}
	conds := conditions.Summarise(s.Generation, message, found...)
	w := ssa.StatusWriter{
		Client: r.Client, Manager: Manager, Now: r.Clock.Now, Latest: &r.latest,
		Owned: ssa.Owned{
			ConditionTypes: []string{v1alpha1.ConditionReferencesResolved, v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled},
			Fields:         []string{"observedGeneration"},
		},
	}
	if _, err := w.Write(ctx, s, conds, map[string]any{"observedGeneration": s.Generation}); err != nil {
		return client.IgnoreNotFound(err)
	}
	if e := conditions.Transition(s.Status.Conditions, conds); e != nil {
		r.Events.Eventf(s, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return nil
}
