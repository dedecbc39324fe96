package gateway

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// HomeOf returns the home root of a Gateway: spec.home, or
// <homeRoot>/<namespace>/<name>.
func HomeOf(gw *v1alpha1.Gateway, homeRoot string) string {
	if gw.Spec.Home != "" {
		return filepath.Clean(gw.Spec.Home)
	}
	return filepath.Join(homeRoot, gw.Namespace, gw.Name)
}

// checkClaim refuses a home root that an older Gateway claims: two gateways on one
// root would write each other's homes. The older one is never disturbed.
func (r *Reconciler) checkClaim(ctx context.Context, s *scope) error {
	var all v1alpha1.GatewayList
	if err := r.Client.List(ctx, &all); err != nil {
		f := conditions.FromError(v1alpha1.ConditionRunning, v1alpha1.ReasonReconciling, err)
		s.claim, s.claimUnknown = &f, true
		return err
	}
	if other := claimant(s.gateway, all.Items, func(gw *v1alpha1.Gateway) string { return r.ResolvePath(HomeOf(gw, r.HomeRoot)) }); other != nil {
		f := conditions.Stalled(v1alpha1.ConditionRunning, v1alpha1.ReasonHomeClaimed,
			fmt.Sprintf("home %s is claimed by Gateway %s: give this one another spec.home", s.home, client.ObjectKeyFromObject(other)))
		s.claim = &f
	}
	return nil
}

// claimant returns the Gateway that has the best claim to gw's home root, or nil
// when that is gw itself. Roots clash when they are equal or one lies inside the other, on one
// machine: only engine Process shares a disk. A Gateway that was granted the root
// before keeps it, whether or not it runs at this moment; then the older one has
// the better claim, then the smaller UID. It is a pure function.
func claimant(gw *v1alpha1.Gateway, all []v1alpha1.Gateway, homeOf func(*v1alpha1.Gateway) string) *v1alpha1.Gateway {
	mine, best := homeOf(gw), gw
	for i := range all {
		other := &all[i]
		if other.UID == gw.UID || !shareDisk(other, gw) || !clash(mine, homeOf(other)) {
			continue
		}
		if better(other, best, homeOf) {
			best = other
		}
	}
	if best == gw {
		return nil
	}
	return best
}

func shareDisk(a, b *v1alpha1.Gateway) bool {
	return a.Spec.Engine == v1alpha1.EngineProcess && b.Spec.Engine == v1alpha1.EngineProcess
}

func clash(a, b string) bool {
	return a == b || inside(a, b) || inside(b, a)
}

func inside(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }

func better(a, b *v1alpha1.Gateway, homeOf func(*v1alpha1.Gateway) string) bool {
	if ga, gb := granted(a, homeOf), granted(b, homeOf); ga != gb {
		return ga
	}
	if at, bt := a.CreationTimestamp, b.CreationTimestamp; !at.Equal(&bt) {
		return at.Before(&bt)
	}
	return a.UID < b.UID
}

// granted reports whether the last pass over a Gateway gave it the root that it
// wants now. Whether it runs does not count: a crash must not cost it the root.
func granted(gw *v1alpha1.Gateway, homeOf func(*v1alpha1.Gateway) string) bool {
	c := meta.FindStatusCondition(gw.Status.Conditions, v1alpha1.ConditionRunning)
	if c == nil || c.Reason == v1alpha1.ReasonHomeClaimed || gw.Status.Home == "" {
		return false
	}
	before := *gw
	before.Spec.Home = gw.Status.Home
	return homeOf(&before) == homeOf(gw)
}

// runs reports whether a Gateway's last summary saw a running instance.
func runs(gw *v1alpha1.Gateway) bool {
	return meta.IsStatusConditionTrue(gw.Status.Conditions, v1alpha1.ConditionRunning)
}
