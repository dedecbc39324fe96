package profile

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

func TestSettling(t *testing.T) {
	bound := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fresh := func() *scope {
		running := &v1alpha1.Gateway{}
		running.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Status: metav1.ConditionTrue}}
		p := &v1alpha1.Profile{}
		return &scope{
			profile: p, gateway: running, bound: bound,
			references:   conditions.OK(v1alpha1.ConditionReferencesResolved, v1alpha1.ReasonResolved, ""),
			homeRendered: conditions.OK(v1alpha1.ConditionHomeRendered, v1alpha1.ReasonRendered, ""),
			served:       conditions.Waiting(v1alpha1.ConditionServed, v1alpha1.ReasonWaitingForGateway, ""),
		}
	}
	for name, c := range map[string]struct {
		change func(*scope)
		after  time.Duration
		want   time.Duration
	}{
		"a new profile is on its way":    {func(*scope) {}, time.Second, firstReport - time.Second},
		"the gateway takes too long":     {func(*scope) {}, firstReport, 0},
		"the home is not bound":          {func(s *scope) { s.bound = time.Time{} }, 0, (time.Time{}).Add(firstReport).Sub(bound)},
		"the gateway does not run":       {func(s *scope) { s.gateway.Status.Conditions = nil }, 0, 0},
		"there is no gateway":            {func(s *scope) { s.gateway = nil }, 0, 0},
		"the gateway has reported":       {func(s *scope) { s.served = conditions.OK("Served", v1alpha1.ReasonServed, "") }, 0, 0},
		"the gateway reports trouble":    {func(s *scope) { s.served.Reason = v1alpha1.ReasonFileConflict }, 0, 0},
		"a reference is missing":         {func(s *scope) { s.references.Status = metav1.ConditionFalse }, 0, 0},
		"the home was not rendered":      {func(s *scope) { s.homeRendered.Status = metav1.ConditionFalse }, 0, 0},
		"a status was written before":    {func(s *scope) { s.profile.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady}} }, 0, 0},
		"a report of Served is no Ready": {func(s *scope) { s.profile.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionServed}} }, 0, firstReport},
	} {
		s := fresh()
		c.change(s)
		if got := settling(s, bound.Add(c.after)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
