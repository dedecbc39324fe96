package profile

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"hermes.dev/hermes/api/ssa"
	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// finalize waits until the gateway let go of the home, then removes the home
// Secret and the finalizer. Files stay or go by spec.deletionPolicy, and it is
// the gateway that removes them.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	if !controllerutil.ContainsFinalizer(s.profile, v1alpha1.FinalizerHome) {
		return nil
	}
	wait, orphaned := deletionPlan(s)
	if wait != "" {
		return r.reportDeleting(ctx, s, wait)
	}
	if orphaned {
		r.Events.Eventf(s.profile, nil, "Warning", v1alpha1.ReasonDeleting, "Delete",
			"deletionPolicy is Delete and Gateway %s does not exist: the home was left on disk", s.profile.Spec.GatewayRef.Name)
	}
	if err := r.deleteHomeSecret(ctx, s.profile); err != nil {
		return err
	}
	r.homes.forget(client.ObjectKeyFromObject(s.profile))
	return client.IgnoreNotFound(r.applyFinalizers(ctx, s.profile))
}

// deletionPlan says what a deletion still waits for (empty: nothing), and
// whether files that should go are out of reach. It is a pure function.
func deletionPlan(s *scope) (wait string, orphaned bool) {
	remove := s.profile.Spec.DeletionPolicy == v1alpha1.DeletionDelete
	if closed(s) {
		return "", false
	}
	switch {
	case s.gateway == nil:
		return "", remove && s.profile.Status.Gateway != nil
	case s.gatewayRunning():
		return fmt.Sprintf("waiting for Gateway %s to close the profile", s.gateway.Name), false
	case remove && s.profile.Status.Gateway != nil:
		return fmt.Sprintf("Gateway %s is not running and must remove the home: start it, or set spec.deletionPolicy to Retain", s.gateway.Name), false
	default:
		return "", false
	}
}

// closed reports whether the gateway said that it let go of the home of this object.
func closed(s *scope) bool {
	c := meta.FindStatusCondition(s.profile.Status.Conditions, v1alpha1.ConditionServed)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonClosed
}

// reportDeleting says what the deletion waits for.
func (r *Reconciler) reportDeleting(ctx context.Context, s *scope, wait string) error {
	f := conditions.Waiting(v1alpha1.ConditionServed, v1alpha1.ReasonDeleting, wait)
	f.Reported = !overruled(meta.FindStatusCondition(s.profile.Status.Conditions, v1alpha1.ConditionServed))
	s.served = f
	conds := conditions.Summarise(s.profile.Generation, "", f)
	w := r.writer(s)
	_, err := w.Write(ctx, s.profile, conds, map[string]any{"observedGeneration": s.profile.Generation, "homeHash": s.profile.Status.HomeHash})
	return client.IgnoreNotFound(err)
}

func (r *Reconciler) deleteHomeSecret(ctx context.Context, p *v1alpha1.Profile) error {
	live := &corev1.Secret{}
	err := r.Values.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: homeSecretName(p.Name)}, live)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if ssa.CheckOwner(live, p) != nil {
		return nil // somebody else's object of that name stays
	}
	err = r.Client.Delete(ctx, live, client.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
