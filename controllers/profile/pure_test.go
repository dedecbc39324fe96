package profile

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// state builds a scope from the few facts the decisions look at.
type state struct {
	gateway  string // "", "down" (no instance), "starting" (instance, not running) or "running"
	served   string // reason of condition Served; "" means none
	ok       bool   // Served is True
	instance string // instance that reported
	hash     string // home the gateway uses
	policy   v1alpha1.DeletionPolicy
}

func (c state) scope() *scope {
	p := &v1alpha1.Profile{}
	p.Spec.GatewayRef.Name, p.Spec.DeletionPolicy = "gw", c.policy
	if c.served != "" {
		status := metav1.ConditionFalse
		if c.ok {
			status = metav1.ConditionTrue
		}
		p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionServed, Status: status, Reason: c.served, Message: "m"}}
	}
	if c.instance != "" {
		p.Status.Gateway = &v1alpha1.ProfileGatewayStatus{Name: "gw", Instance: c.instance, HomeHash: c.hash}
	}
	s := &scope{profile: p, rendered: true, hash: "new"}
	if c.gateway == "" {
		return s
	}
	s.gateway = &v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "gw"}}
	running := metav1.ConditionFalse
	if c.gateway == "running" {
		running = metav1.ConditionTrue
	}
	s.gateway.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Status: running, Reason: "R"}}
	if c.gateway != "down" {
		s.gateway.Status.Instance = &v1alpha1.GatewayInstance{ID: "run-2"}
	}
	return s
}

func TestServedFinding(t *testing.T) {
	const (
		served, waiting = v1alpha1.ReasonServed, v1alpha1.ReasonWaitingForGateway
		yes, no, huh    = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	)
	cases := []struct {
		name     string
		state    state
		status   metav1.ConditionStatus
		reason   string
		reported bool
		stalled  bool
	}{
		{"no gateway, never reported", state{}, huh, waiting, true, false},
		{"no gateway, reported before", state{served: served, ok: true, instance: "run-1"}, huh, waiting, false, false},
		{"down", state{gateway: "down", served: served, ok: true, instance: "run-1"}, huh, waiting, false, false},
		{"the reporter is alive and not answering", state{gateway: "starting", served: served, ok: true, instance: "run-2"}, huh, waiting, true, false},
		{"another run starts", state{gateway: "starting", served: served, ok: true, instance: "run-1"}, huh, waiting, false, false},
		{"overruled stays ours", state{gateway: "running", served: waiting, instance: "run-1"}, huh, waiting, false, false},
		{"running, never reported", state{gateway: "running"}, no, waiting, true, false},
		{"running, an older run reported", state{gateway: "running", served: served, ok: true, instance: "run-1", hash: "new"}, no, waiting, true, false},
		{"running, older home", state{gateway: "running", served: served, ok: true, instance: "run-2", hash: "old"}, no, v1alpha1.ReasonReconciling, true, false},
		{"served", state{gateway: "running", served: served, ok: true, instance: "run-2", hash: "new"}, yes, served, true, false},
		{"damaged", state{gateway: "running", served: v1alpha1.ReasonStoreCorrupt, instance: "run-2"}, no, v1alpha1.ReasonStoreCorrupt, true, true},
		{"in trouble that may pass", state{gateway: "running", served: v1alpha1.ReasonRuntimeFailed, instance: "run-2"}, no, v1alpha1.ReasonRuntimeFailed, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := servedFinding(c.state.scope())
			if f.Status != c.status || f.Reason != c.reason || f.Reported != c.reported || f.Stalled != c.stalled || f.Message == "" {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestDeletionPlan(t *testing.T) {
	const keep, remove = v1alpha1.DeletionRetain, v1alpha1.DeletionDelete
	cases := []struct {
		name            string
		state           state
		waits, orphaned bool
	}{
		{"closed", state{gateway: "running", served: v1alpha1.ReasonClosed, instance: "run-2", policy: remove}, false, false},
		{"running", state{gateway: "running", served: v1alpha1.ReasonServed, ok: true, instance: "run-2", policy: keep}, true, false},
		{"down, keep", state{gateway: "down", instance: "run-1", policy: keep}, false, false},
		{"down, remove", state{gateway: "down", instance: "run-1", policy: remove}, true, false},
		{"down, remove, never written", state{gateway: "down", policy: remove}, false, false},
		{"no gateway, keep", state{instance: "run-1", policy: keep}, false, false},
		{"no gateway, remove", state{instance: "run-1", policy: remove}, false, true},
		{"no gateway, remove, never written", state{policy: remove}, false, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wait, orphaned := deletionPlan(c.state.scope())
			if (wait != "") != c.waits || orphaned != c.orphaned {
				t.Errorf("wait %q, orphaned %v", wait, orphaned)
			}
		})
	}
}
