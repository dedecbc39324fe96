package reach

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/cmd/hermes/internal/exit"
	"hermes.dev/hermes/cmd/hermes/internal/statusview"
)

// TestBetweenStates: what is on its way is waited for, what stands still is not.
func TestBetweenStates(t *testing.T) {
	ready := func(reason string) []metav1.Condition {
		status := metav1.ConditionFalse
		if reason == "Ready" {
			status = metav1.ConditionTrue
		}
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason}}
	}
	talk, read := Need{Ready: true}, Need{}
	for name, c := range map[string]struct {
		profile, gateway string // reasons of Ready
		suspended        bool
		need             Need
		want             bool
	}{
		"all is well":                    {"Ready", "Ready", false, talk, false},
		"starting":                       {v1alpha1.ReasonWaitingForGateway, v1alpha1.ReasonStarting, false, talk, true},
		"draining":                       {v1alpha1.ReasonWaitingForGateway, v1alpha1.ReasonDraining, false, talk, true},
		"draining, to read":              {v1alpha1.ReasonWaitingForGateway, v1alpha1.ReasonDraining, false, read, true},
		"draining, the profile says yes": {"Ready", v1alpha1.ReasonDraining, false, talk, true},
		"not reported on yet":            {v1alpha1.ReasonWaitingForGateway, "Ready", false, talk, true},
		"not reported on yet, to read":   {v1alpha1.ReasonWaitingForGateway, "Ready", false, read, false},
		"the gateway is broken":          {v1alpha1.ReasonWaitingForGateway, v1alpha1.ReasonHomeClaimed, false, talk, false},
		"the profile is broken":          {v1alpha1.ReasonSecretNotFound, v1alpha1.ReasonStarting, false, talk, false},
		"suspended":                      {v1alpha1.ReasonSuspended, v1alpha1.ReasonStarting, true, talk, false},
		"nothing looks at the gateway":   {"", v1alpha1.ReasonReconciling, false, read, false},
		"no gateway":                     {v1alpha1.ReasonWaitingForGateway, "", false, talk, false},
	} {
		p := declaredProfile("alice", "", nil)
		p.Spec.Suspended, p.Status.Conditions = c.suspended, ready(c.profile)
		s := statusview.Snapshot{Profiles: []v1alpha1.Profile{p}}
		if c.gateway != "" {
			g := declaredGateway("default", "", "/s", v1alpha1.EngineProcess)
			g.Status.Conditions = ready(c.gateway)
			s.Gateways = []v1alpha1.Gateway{g}
		}
		if got := betweenStates(s, "alice", c.need, time.Now()); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
	if betweenStates(statusview.Snapshot{}, "", talk, time.Now()) {
		t.Error("a profile that is not there is waited for")
	}
}

// stepping is a clock on which every wait passes at once.
type stepping struct{ *clocktesting.FakeClock }

func (c stepping) After(d time.Duration) <-chan time.Time {
	after := c.FakeClock.After(d)
	c.Step(d)
	return after
}

// TestSettle: a wait ends with what it waited for, and with its own exit code when it takes too long.
func TestSettle(t *testing.T) {
	why := errors.New("the gateway drains")
	for name, c := range map[string]struct {
		between int // looks until it is settled
		while   error
		after   error
		code    int
		looks   int
	}{
		"at once":           {0, why, nil, 0, 1},
		"and for good":      {0, why, why, exit.Failed, 1},
		"soon":              {7, why, nil, 0, 8},
		"never":             {1000, why, nil, exit.TryAgain, 26},
		"never, and no why": {1000, nil, nil, exit.TryAgain, 26},
	} {
		f := Finder{Clock: stepping{clocktesting.NewFakeClock(time.Now())}}
		looks := 0
		got, err := f.settle(t.Context(), func(context.Context) (Target, bool, error) {
			looks++
			if looks <= c.between {
				return Target{Profile: "alice"}, true, c.while
			}
			return Target{Profile: "alice", Socket: "/s"}, false, c.after
		})
		if exit.Code(err) != c.code || looks != c.looks || err == nil && got.Socket == "" {
			t.Errorf("%s: %+v, %v after %d looks", name, got, err, looks)
		}
	}
}
