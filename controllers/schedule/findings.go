package schedule

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// stalledJob are the gateway's reports that only a person can cure.
var stalledJob = map[string]bool{
	v1alpha1.ReasonScheduleInvalid: true, v1alpha1.ReasonTimezoneInvalid: true,
	v1alpha1.ReasonDeliverInvalid: true, v1alpha1.ReasonJobRefused: true, v1alpha1.ReasonJobStoreUnavailable: true,
}

// findings says how a Schedule stands; p is its Profile, nil when there is none. It is a pure function.
func findings(s *v1alpha1.Schedule, p *v1alpha1.Profile) []conditions.Finding {
	if p == nil {
		return []conditions.Finding{conditions.Stalled(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonProfileNotFound,
			fmt.Sprintf("Profile %q does not exist in namespace %s: create it, or make a Schedule that names another one", s.Spec.ProfileRef.Name, s.Namespace))}
	}
	return []conditions.Finding{
		conditions.OK(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonResolved, "Profile "+p.Name+" exists"),
		scheduled(s, p),
	}
}

// scheduled reads what the gateway reported. Without a gateway that has the profile open a report is only what was: a
// Schedule never counts as Ready on the word of a process that is gone.
func scheduled(s *v1alpha1.Schedule, p *v1alpha1.Profile) conditions.Finding {
	f := conditions.Waiting(v1alpha1.ConditionScheduled, v1alpha1.ReasonReconciling, "the gateway has not taken over the Schedule yet")
	f.Reported = true
	reported := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionScheduled)
	switch served := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionServed); {
	case !open(served):
		f.Reason, f.Message = v1alpha1.ReasonProfileNotServed, unserved(p, served)
		f.Quiet = p.Spec.Suspended
	case reported == nil || reported.ObservedGeneration != s.Generation:
	default:
		f.Status, f.Reason, f.Message = reported.Status, reported.Reason, reported.Message
		f.Stalled = stalledJob[reported.Reason]
		f.Quiet = reported.Reason == v1alpha1.ReasonSuspended
	}
	return f
}

// open reports whether a gateway has the profile open. One whose model refuses or whose store is damaged still is: its
// jobs are kept and say themselves how they end.
func open(served *metav1.Condition) bool {
	if served == nil {
		return false
	}
	switch served.Reason {
	case v1alpha1.ReasonModelRefused, v1alpha1.ReasonModelUnreachable:
		return true
	}
	return served.Status == metav1.ConditionTrue
}

func unserved(p *v1alpha1.Profile, served *metav1.Condition) string {
	if served == nil {
		return fmt.Sprintf("Profile %s is not open in a gateway yet: see hermes status profile/%s", p.Name, p.Name)
	}
	return fmt.Sprintf("Profile %s is not open in its gateway (%s): see hermes status profile/%s", p.Name, served.Reason, p.Name)
}
