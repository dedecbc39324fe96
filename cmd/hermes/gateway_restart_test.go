package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

func gatewayRun(id string, running metav1.ConditionStatus) *v1alpha1.Gateway {
	gw := &v1alpha1.Gateway{}
	if id != "" {
		gw.Status.Instance = &v1alpha1.GatewayInstance{ID: id}
	}
	gw.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Status: running}}
	return gw
}

// TestRestarted: only another run that answers ends the wait.
func TestRestarted(t *testing.T) {
	for name, c := range map[string]struct {
		before, now *v1alpha1.Gateway
		want        bool
	}{
		"the old run still answers": {gatewayRun("a", metav1.ConditionTrue), gatewayRun("a", metav1.ConditionTrue), false},
		"nothing runs":              {gatewayRun("a", metav1.ConditionTrue), gatewayRun("", metav1.ConditionFalse), false},
		"the new run is starting":   {gatewayRun("a", metav1.ConditionTrue), gatewayRun("b", metav1.ConditionFalse), false},
		"the new run answers":       {gatewayRun("a", metav1.ConditionTrue), gatewayRun("b", metav1.ConditionTrue), true},
		"nothing ran before":        {gatewayRun("", metav1.ConditionFalse), gatewayRun("b", metav1.ConditionTrue), true},
	} {
		if got := restarted(c.before, c.now); got != c.want {
			t.Errorf("%s: restarted = %v, want %v", name, got, c.want)
		}
	}
}
