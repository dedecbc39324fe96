package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// crashLoop is a gateway that ends by itself and is tried again later.
var crashLoop = engine.Observation{Reason: v1alpha1.ReasonCrashLoop, Message: "exit 1: panic", Restarts: 3, NextAttempt: time.Now().Add(time.Hour).Truncate(time.Second)}

// observed makes gateway gw look like o.
func observed(o engine.Observation) func(*world) client.Object {
	return func(w *world) client.Object {
		suite.engine.Observe(w.ref(), o)
		g := gateway("gw")
		w.create(g)
		return g
	}
}

func recovered(w *world, _ client.Object) { suite.engine.Recover(w.ref()) }

// failing is a row of a gateway that its engine sees in trouble.
func failing(reason, progress string, o engine.Observation) row {
	o.Reason, o.Message = reason, "see "+reason
	o.Stalled = progress == stalled
	r := row{
		name: "gateway: " + reason, make: observed(o), cure: recovered,
		ready: no, reason: reason, progress: progress, also: map[string]string{v1alpha1.ConditionRunning: reason},
	}
	if o.Stalled {
		r.events = []string{"Warning " + reason}
	}
	return r
}

// claimed makes two Gateways whose roots clash and returns the younger one.
func claimed(first, second func(dir string) string) func(*world) client.Object {
	return func(w *world) client.Object {
		dir := filepath.Join(suite.homes, w.ns)
		if err := os.MkdirAll(filepath.Join(dir, "root"), 0o700); err != nil {
			w.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "root"), filepath.Join(dir, "link")); err != nil {
			w.Fatal(err)
		}
		older := gateway("older", func(s *v1alpha1.GatewaySpec) { s.Home = first(dir) })
		w.create(older)
		w.awaitCondition(older, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
		g := gateway("gw", func(s *v1alpha1.GatewaySpec) { s.Home = second(dir) })
		w.create(g)
		return g
	}
}

func at(name string) func(string) string {
	return func(dir string) string { return filepath.Join(dir, name) }
}

func claimRow(name string, first, second string) row {
	return row{
		name: "gateway claims a root: " + name, make: claimed(at(first), at(second)),
		ready: no, reason: v1alpha1.ReasonHomeClaimed, progress: stalled, events: []string{"Warning HomeClaimed"},
		check: func(w *world, _ client.Object) {
			if suite.engine.Starts(w.ref()) != 0 {
				w.Error("a gateway was started on a claimed root")
			}
		},
		cure: func(w *world, _ client.Object) {
			older := gateway("older")
			older.Namespace = w.ns
			w.delete(older)
		},
	}
}

var gatewayRows = []row{
	{
		name:  "gateway runs",
		make:  func(w *world) client.Object { g := gateway("gw"); w.create(g); return g },
		ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionRunning: v1alpha1.ReasonRunning, v1alpha1.ConditionCurrent: v1alpha1.ReasonCurrent},
		check: func(w *world, o client.Object) {
			g := o.(*v1alpha1.Gateway)
			w.await("the served set", func() (bool, string) {
				w.get(g)
				return g.Status.ServedProfiles != nil && *g.Status.ServedProfiles == 0, ""
			})
			if g.Status.Instance == nil || g.Status.Home == "" {
				w.Errorf("status lacks the instance or home: %+v", g.Status)
			}
		},
	},
	{
		name: "gateway starts", ready: no, reason: v1alpha1.ReasonStarting, progress: reconciling,
		make: func(w *world) client.Object {
			suite.engine.Hold(w.ref())
			g := gateway("gw")
			w.create(g)
			return g
		},
		cure: func(w *world, _ client.Object) { suite.engine.Release(w.ref()) },
	},
	{
		name: "gateway is deleted and drains", ready: no, reason: v1alpha1.ReasonDraining, progress: reconciling,
		make: func(w *world) client.Object {
			g := gateway("gw")
			w.create(g)
			w.awaitCondition(g, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			suite.engine.Hold(w.ref())
			w.delete(g)
			return g
		},
		events: []string{"Normal Ready", "Warning Draining"},
	},
	failing(v1alpha1.ReasonCrashLoop, reconciling, engine.Observation{Restarts: 3, NextAttempt: crashLoop.NextAttempt}),
	failing(v1alpha1.ReasonOutOfMemory, reconciling, engine.Observation{Restarts: 1}),
	failing(v1alpha1.ReasonConfigurationRefused, stalled, engine.Observation{}),
	failing(v1alpha1.ReasonHostOwnedElsewhere, reconciling, engine.Observation{}),
	failing(v1alpha1.ReasonHomeNotOurs, stalled, engine.Observation{}),
	failing(v1alpha1.ReasonHomeUnwritable, stalled, engine.Observation{}),
	failing(v1alpha1.ReasonNotResponding, reconciling, engine.Observation{Instance: &v1alpha1.GatewayInstance{}}),
	{
		name: "gateway of an engine that is not there", ready: no, reason: v1alpha1.ReasonEngineUnavailable, progress: stalled,
		make: func(w *world) client.Object {
			g := gateway("gw", func(s *v1alpha1.GatewaySpec) { s.Engine = v1alpha1.EngineKubernetes })
			w.create(g)
			return g
		},
		events: []string{"Warning EngineUnavailable"},
	},
	{
		name: "gateway whose engine fails", ready: no, reason: v1alpha1.ReasonReconciling, progress: reconciling,
		make: func(w *world) client.Object {
			suite.engine.Fail(w.ref(), errors.New("disk is full"))
			g := gateway("gw")
			w.create(g)
			return g
		},
		cure: recovered,
	},
	{
		name: "gateway with older settings", ready: yes, reason: v1alpha1.ReasonReady,
		also: map[string]string{v1alpha1.ConditionCurrent: v1alpha1.ReasonOutdated},
		make: func(w *world) client.Object {
			g := gateway("gw", func(s *v1alpha1.GatewaySpec) { s.UpdatePolicy.Mode = v1alpha1.UpdateManual })
			w.create(g)
			w.awaitCondition(g, v1alpha1.ConditionReady, yes, v1alpha1.ReasonReady)
			w.change(g, func() { g.Spec.DrainTimeout = &metav1.Duration{Duration: time.Second} })
			return g
		},
		events: readyEvent,
	},
	claimRow("the same", "root", "root"),
	claimRow("inside another", "root", "root/below"),
	claimRow("around another", "root/below", "root"),
	claimRow("by a symbolic link", "root", "link"),
}
