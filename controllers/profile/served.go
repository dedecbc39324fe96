package profile

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// stalledServed are the gateway's reports that only a person can cure.
var stalledServed = map[string]bool{
	v1alpha1.ReasonFileConflict:      true,
	v1alpha1.ReasonHomeInUse:         true,
	v1alpha1.ReasonStoreCorrupt:      true,
	v1alpha1.ReasonModelRefused:      true,
	v1alpha1.ReasonCredentialMissing: true,
}

// servedFinding reads what the gateway reported, and overrules it with Unknown
// while the gateway is not there to speak for itself: a status never says Served
// on the word of a process that is gone. It is a pure function of the scope.
func servedFinding(s *scope) conditions.Finding {
	p := s.profile
	reported := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionServed)
	if !s.gatewayRunning() {
		return unserved(s, reported)
	}
	f := conditions.Finding{Type: v1alpha1.ConditionServed, Reported: true, Status: metav1.ConditionFalse}
	g := p.Status.Gateway
	switch {
	case overruled(reported):
		// Ours until the gateway reports again: a condition that nobody applies any more would be left without its fields.
		f.Reported, f.Status = false, metav1.ConditionUnknown
		f.Reason, f.Message = v1alpha1.ReasonWaitingForGateway, fmt.Sprintf("Gateway %s has not reported on this profile yet", s.gateway.Name)
	case reported == nil || g == nil || g.Name != s.gateway.Name || (s.gateway.Status.Instance != nil && g.Instance != s.gateway.Status.Instance.ID):
		f.Reason, f.Message = v1alpha1.ReasonWaitingForGateway, fmt.Sprintf("Gateway %s has not reported on this profile yet", s.gateway.Name)
	case reported.Status != metav1.ConditionTrue:
		f.Reason, f.Message, f.Stalled = reported.Reason, reported.Message, stalledServed[reported.Reason]
		f.Quiet = reported.Reason == v1alpha1.ReasonSuspended
	case s.rendered && g.HomeHash != s.hash:
		f.Reason, f.Message = v1alpha1.ReasonReconciling, "the gateway has not taken over the newest home yet"
	default:
		f.Status, f.Reason, f.Message = metav1.ConditionTrue, reported.Reason, reported.Message
	}
	return f
}

// overruled reports whether condition Served is the controller's own word, and not a gateway's.
func overruled(served *metav1.Condition) bool {
	return served != nil && (served.Reason == v1alpha1.ReasonWaitingForGateway || served.Reason == v1alpha1.ReasonDeleting)
}

func unserved(s *scope, reported *metav1.Condition) conditions.Finding {
	name := s.profile.Spec.GatewayRef.Name
	message := fmt.Sprintf("Gateway %s is not running", name)
	if s.gateway != nil {
		if c := meta.FindStatusCondition(s.gateway.Status.Conditions, v1alpha1.ConditionRunning); c != nil {
			message = fmt.Sprintf("Gateway %s is not running (%s): see hermes status gateway/%s", name, c.Reason, name)
		}
	}
	f := conditions.Waiting(v1alpha1.ConditionServed, v1alpha1.ReasonWaitingForGateway, message)
	// Without an earlier report there is nothing to overrule. A process that is still there (one that starts, drains
	// or hangs) speaks for itself: overruling it would be answered by another report, and so on for ever.
	f.Reported = reported == nil || s.reporterLives() && !overruled(reported)
	f.Status = metav1.ConditionUnknown
	return f
}
