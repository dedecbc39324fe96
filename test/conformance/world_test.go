package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

const (
	// patience is how long anything may take before a test gives up on it.
	patience = 15 * time.Second
	// poll is how often a condition is looked at.
	poll = 10 * time.Millisecond
	// still is how long nothing may be written before a window is taken for settled: longer than the node agent may
	// hold a report of the served set back. window is how long nothing may be written then.
	still, window = 2200 * time.Millisecond, time.Second
)

// world is one namespace of one test.
type world struct {
	*testing.T
	ns string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}
	if err := suite.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, ns: ns.Name}
	t.Cleanup(w.cleanUp)
	return w
}

// cleanUp deletes what the test left, profiles first, so that no test sees another's traffic.
func (w *world) cleanUp() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, list := range []client.ObjectList{
		&v1alpha1.ProfileList{}, &v1alpha1.ScheduleList{}, &v1alpha1.MetricsConsentList{}, &v1alpha1.RelayIdentityList{}, &v1alpha1.GatewayList{},
	} {
		if err := suite.client.List(ctx, list, client.InNamespace(w.ns)); err != nil {
			w.Error(err)
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			suite.engine.Recover(engine.Ref{Namespace: w.ns, Name: o.(client.Object).GetName()})
			suite.engine.Release(engine.Ref{Namespace: w.ns, Name: o.(client.Object).GetName()})
			return nil
		})
	}
	for _, o := range []client.Object{&v1alpha1.Profile{}, &v1alpha1.Schedule{}, &v1alpha1.MetricsConsent{}, &v1alpha1.RelayIdentity{}} {
		_ = suite.client.DeleteAllOf(ctx, o, client.InNamespace(w.ns))
	}
	w.await("profiles are gone", func() (bool, string) { return w.empty(ctx, &v1alpha1.ProfileList{}) })
	_ = suite.client.DeleteAllOf(ctx, &v1alpha1.Gateway{}, client.InNamespace(w.ns))
	w.await("gateways are gone", func() (bool, string) { return w.empty(ctx, &v1alpha1.GatewayList{}) })
	_ = suite.client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(w.ns))
}

func (w *world) empty(ctx context.Context, list client.ObjectList) (bool, string) {
	if err := suite.client.List(ctx, list, client.InNamespace(w.ns)); err != nil {
		return false, err.Error()
	}
	var left []string
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		left = append(left, fmt.Sprintf("%s %+v", o.(client.Object).GetName(), conditionsOf(o.(client.Object))))
		return nil
	})
	return len(left) == 0, strings.Join(left, "; ")
}

// create makes an object in the test's namespace.
func (w *world) create(o client.Object) {
	w.Helper()
	o.SetNamespace(w.ns)
	if err := suite.client.Create(w.ctx(), o); err != nil {
		w.Fatal(err)
	}
}

// ctx is the test's, or one that still works while it cleans up.
func (w *world) ctx() context.Context {
	if w.Context().Err() != nil {
		return context.Background()
	}
	return w.Context()
}

// get reads an object again.
func (w *world) get(o client.Object) {
	w.Helper()
	if err := suite.client.Get(w.ctx(), client.ObjectKeyFromObject(o), o); err != nil {
		w.Fatal(err)
	}
}

// change reads an object, changes it and writes it, as a person does.
func (w *world) change(o client.Object, f func()) {
	w.Helper()
	for {
		w.get(o)
		f()
		err := suite.client.Update(w.ctx(), o)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			w.Fatal(err)
		}
		return
	}
}

func (w *world) delete(o client.Object) {
	w.Helper()
	if err := suite.client.Delete(w.ctx(), o); err != nil {
		w.Fatal(err)
	}
}

// await waits for something to become true and shows what it saw last when it does not.
func (w *world) await(what string, f func() (bool, string)) {
	w.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, seen := f()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within %s; last seen: %s\nwrites: %v", what, patience, seen, tail(suite.traffic.of(w.ns), 12))
		}
		<-time.After(poll)
	}
}

func tail(list []write, n int) []write { return list[max(0, len(list)-n):] }

// awaitGone waits until an object is not there any more.
func (w *world) awaitGone(o client.Object) {
	w.Helper()
	w.await("the object is gone", func() (bool, string) {
		err := suite.client.Get(w.ctx(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprint(err, conditionsOf(o))
	})
}

// awaitCondition waits until one condition has a status and reason.
func (w *world) awaitCondition(o client.Object, conditionType string, status metav1.ConditionStatus, reason string) {
	w.Helper()
	w.await(fmt.Sprintf("%s=%s %s of %s", conditionType, status, reason, o.GetName()), func() (bool, string) {
		w.get(o)
		c := meta.FindStatusCondition(conditionsOf(o), conditionType)
		ok := c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == o.GetGeneration()
		return ok, summary(o)
	})
}

func summary(o client.Object) string {
	var b strings.Builder
	for _, c := range conditionsOf(o) {
		fmt.Fprintf(&b, "%s=%s %s (%s) gen %d/%d\n", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration, o.GetGeneration())
	}
	return b.String()
}

// settle waits until nothing is written for a while, then demands that nothing is
// written for the length of a window.
func (w *world) settle() {
	w.Helper()
	last := time.Now()
	seen := len(suite.traffic.of(w.ns))
	w.await("nothing is written", func() (bool, string) {
		if n := len(suite.traffic.of(w.ns)); n != seen {
			last, seen = time.Now(), n
		}
		return time.Since(last) > still, fmt.Sprint(seen, " writes")
	})
	w.quiet(window)
}

// quiet demands that nothing is written for d.
func (w *world) quiet(d time.Duration) {
	w.Helper()
	writes := len(suite.traffic.of(w.ns))
	end := time.Now().Add(d)
	w.await("the window", func() (bool, string) { return time.Now().After(end), "" })
	if now := suite.traffic.of(w.ns); len(now) != writes {
		w.Errorf("%d writes in a settled system: %v", len(now)-writes, now[writes:])
	}
}

// reconciles returns the number of passes of each controller so far.
func reconciles(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "controller" {
					out[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return out
}

// events returns what was told about an object, oldest first, as "Type Reason".
func (w *world) events(o client.Object) []string {
	w.Helper()
	var list eventsv1.EventList
	if err := suite.client.List(w.ctx(), &list, client.InNamespace(w.ns)); err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		if e.Regarding.UID != o.GetUID() {
			continue
		}
		n := 1
		if e.Series != nil {
			n = int(e.Series.Count)
		}
		for range n {
			out = append(out, e.Type+" "+e.Reason)
		}
	}
	return out
}

// conditionsOf returns the conditions of any of the kinds.
func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Profile:
		return o.Status.Conditions
	case *v1alpha1.Gateway:
		return o.Status.Conditions
	case *v1alpha1.RelayIdentity:
		return o.Status.Conditions
	case *v1alpha1.MetricsConsent:
		return o.Status.Conditions
	case *v1alpha1.Schedule:
		return o.Status.Conditions
	}
	return nil
}

func observedGeneration(o client.Object) int64 {
	switch o := o.(type) {
	case *v1alpha1.Profile:
		return o.Status.ObservedGeneration
	case *v1alpha1.Gateway:
		return o.Status.ObservedGeneration
	case *v1alpha1.RelayIdentity:
		return o.Status.ObservedGeneration
	case *v1alpha1.MetricsConsent:
		return o.Status.ObservedGeneration
	case *v1alpha1.Schedule:
		return o.Status.ObservedGeneration
	}
	return -1
}
