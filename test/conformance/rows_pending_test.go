package conformance

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// pendingRow is a kind that this version stores and does not act on.
func pendingRow(name, condition string, o func() client.Object) row {
	return row{
		name: name + " without its profile", ready: no, reason: v1alpha1.ReasonProfileNotFound, progress: stalled,
		also:   map[string]string{condition: v1alpha1.ReasonProfileNotFound},
		make:   func(w *world) client.Object { made := o(); w.create(made); return made },
		events: []string{"Warning ProfileNotFound"},
		cure:   func(w *world, _ client.Object) { w.create(profile("alice")) }, cured: v1alpha1.ReasonNotImplemented,
	}
}

var pendingRows = []row{
	pendingRow("relayidentity", v1alpha1.ConditionProvisioned, func() client.Object {
		return &v1alpha1.RelayIdentity{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1alpha1.RelayIdentitySpec{
			ProfileRef: v1alpha1.ProfileRef{Name: "alice"}, Platform: "slack", BotID: "B1",
		}}
	}),
	pendingRow("metricsconsent", v1alpha1.ConditionRecorded, func() client.Object {
		return &v1alpha1.MetricsConsent{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: v1alpha1.MetricsConsentSpec{
			ProfileRef: v1alpha1.ProfileRef{Name: "alice"}, Collect: true,
		}}
	}),
}
