package main

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// TestServedAgain: a restart is over when the new run has taken over what the old one served, or said why it cannot.
func TestServedAgain(t *testing.T) {
	profile := func(name, run string, served, ready metav1.ConditionStatus, reason string) v1alpha1.Profile {
		p := v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.Gateway = &v1alpha1.ProfileGatewayStatus{Name: "default", Instance: run}
		p.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionServed, Status: served, Reason: reason}, {Type: v1alpha1.ConditionReady, Status: ready, Reason: reason},
		}
		return p
	}
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	suspended := profile("a", "old", no, no, v1alpha1.ReasonSuspended)
	suspended.Spec.Suspended = true
	moved := profile("a", "other", yes, yes, "Ready")
	moved.Spec.GatewayRef.Name = "other"
	silent := profile("a", "", yes, yes, "Ready")
	silent.Status.Gateway = nil
	run := gatewayRun("new", yes)
	run.Name = "default"
	for name, c := range map[string]struct {
		profile         v1alpha1.Profile
		waiting, broken []string
	}{
		"served again":          {profile("a", "new", yes, yes, "Ready"), nil, nil},
		"the old run's word":    {profile("a", "old", yes, yes, "Ready"), []string{"a"}, nil},
		"nobody's word":         {silent, []string{"a"}, nil},
		"summed up later":       {profile("a", "new", yes, no, v1alpha1.ReasonWaitingForGateway), []string{"a"}, nil},
		"served, model is away": {profile("a", "new", yes, no, v1alpha1.ReasonModelUnreachable), nil, nil},
		"cannot be served":      {profile("a", "new", no, no, v1alpha1.ReasonConfigInvalid), nil, []string{"a (ConfigInvalid)"}},
		"suspended meanwhile":   {suspended, nil, nil},
		"moved meanwhile":       {moved, nil, nil},
		"was not served before": {profile("b", "old", no, no, v1alpha1.ReasonConfigInvalid), nil, nil},
	} {
		waiting, broken := servedAgain(statusview.Snapshot{Profiles: []v1alpha1.Profile{c.profile}}, run, []string{"a"})
		if !slices.Equal(waiting, c.waiting) || !slices.Equal(broken, c.broken) {
			t.Errorf("%s: waiting %v, broken %v", name, waiting, broken)
		}
	}
}
