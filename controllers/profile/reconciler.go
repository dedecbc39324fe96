package profile

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// Manager is the field manager of everything this reconciler writes.
const Manager = "hermes-profile"

// Reconciler converges Profiles.
type Reconciler struct {
	// Client reads Profiles and Gateways from a cache, Secret and ConfigMap metadata from a cache, and writes.
	Client client.Client
	// Values reads Secrets and ConfigMaps from the API server, never from a cache: no secret value stays in memory.
	Values client.Reader
	// Events records events about Profiles.
	Events events.EventRecorder
	// Clock stamps condition transitions.
	Clock clock.PassiveClock

	homes  verifiedHomes
	latest ssa.Latest
}

var ownedFields = []string{"observedGeneration", "homeHash"}

var ownedConditions = []string{
	v1alpha1.ConditionReferencesResolved, v1alpha1.ConditionHomeRendered,
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
}

// Reconcile makes one pass over a Profile: every step runs, then one patch sums up.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p := &v1alpha1.Profile{}
	if err := r.Client.Get(ctx, req.NamespacedName, p); err != nil {
		r.homes.forget(req.NamespacedName)
		r.latest.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.latest.Refresh(p)
	s := &scope{profile: p}
	if err := r.readGateway(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if !p.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, s)
	}
	err := errors.Join(
		r.ensureFinalizer(ctx, s),
		r.resolve(ctx, s),
		r.bindHome(ctx, s),
	)
	s.served = servedFinding(s)
	if wait := settling(s, r.Clock.Now()); wait > 0 && err == nil {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return ctrl.Result{}, errors.Join(err, r.summarise(ctx, s))
}

// ensureFinalizer holds the Profile back until its home is handled.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	if controllerutil.ContainsFinalizer(s.profile, v1alpha1.FinalizerHome) {
		return nil
	}
	return r.applyFinalizers(ctx, s.profile, v1alpha1.FinalizerHome)
}

func (r *Reconciler) applyFinalizers(ctx context.Context, p *v1alpha1.Profile, finalizers ...string) error {
	return ssa.Finalizers(ctx, r.Client, Manager, p, finalizers...)
}

// summarise owns the conditions: it patches them once, when they differ, and tells about a change of Ready.
func (r *Reconciler) summarise(ctx context.Context, s *scope) error {
	p := s.profile
	conds := conditions.Summarise(p.Generation, readyMessage(s), s.references, s.homeRendered, s.served)
	fields := map[string]any{"observedGeneration": p.Generation}
	if s.hash != "" {
		fields["homeHash"] = s.hash
	} else if p.Status.HomeHash != "" {
		fields["homeHash"] = p.Status.HomeHash
	}
	_, err := r.writer(s).Write(ctx, p, conds, fields)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell(p, conds)
	return nil
}

// writer owns Served only while the gateway cannot speak for itself.
func (r *Reconciler) writer(s *scope) ssa.StatusWriter {
	owned := ownedConditions
	if !s.served.Reported {
		owned = append(slices.Clone(owned), v1alpha1.ConditionServed)
	}
	return ssa.StatusWriter{
		Client: r.Client, Manager: Manager, Now: r.Clock.Now, Latest: &r.latest,
		Owned: ssa.Owned{ConditionTypes: owned, Fields: ownedFields},
	}
}

func (r *Reconciler) tell(p *v1alpha1.Profile, conds []metav1.Condition) {
	if e := conditions.Transition(p.Status.Conditions, conds); e != nil {
		r.Events.Eventf(p, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
}

func readyMessage(s *scope) string {
	if c := meta.FindStatusCondition(s.profile.Status.Conditions, v1alpha1.ConditionServed); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
		return c.Message
	}
	return "served by Gateway " + s.profile.Spec.GatewayRef.Name
}
