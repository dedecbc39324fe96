package profile

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
	"hermes.dev/hermes/runtime/home"
)

// scope is what one reconcile pass reads and finds.
type scope struct {
	profile *v1alpha1.Profile
	// gateway is nil when the Gateway does not exist.
	gateway *v1alpha1.Gateway
	// values is what the references were resolved to.
	values home.Resolved
	// bundle is the rendered home; rendered is false when it could not be rendered.
	bundle   home.Bundle
	rendered bool
	hash     string
	// bound is when this run first saw the home Secret hold the rendered home; zero while it does not.
	bound time.Time

	references, homeRendered, served conditions.Finding
}

// gatewayRunning reports whether the Gateway's process answers now.
func (s *scope) gatewayRunning() bool {
	return s.gateway != nil && meta.IsStatusConditionTrue(s.gateway.Status.Conditions, v1alpha1.ConditionRunning)
}

// reporterLives reports whether the run that reported on the profile is the one the Gateway has now.
func (s *scope) reporterLives() bool {
	g := s.profile.Status.Gateway
	return s.gateway != nil && s.gateway.Status.Instance != nil && g != nil &&
		g.Name == s.gateway.Name && g.Instance == s.gateway.Status.Instance.ID
}

// homeSecretName returns the name of the profile's home Secret.
func homeSecretName(profile string) string { return v1alpha1.HomeSecretPrefix + profile }

// readGateway fills scope.gateway.
func (r *Reconciler) readGateway(ctx context.Context, s *scope) error {
	gw := &v1alpha1.Gateway{}
	key := types.NamespacedName{Namespace: s.profile.Namespace, Name: s.profile.Spec.GatewayRef.Name}
	err := r.Client.Get(ctx, key, gw)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read Gateway %s: %w", key.Name, err)
	}
	s.gateway = gw
	return nil
}
