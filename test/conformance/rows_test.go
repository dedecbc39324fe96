package conformance

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
)

// row is one state that an object of one kind can be in. Every row is held to
// every promise, so a kind joins the suite by adding rows.
type row struct {
	name string
	// make brings the object, and what it needs, into the state.
	make func(w *world) client.Object
	// ready and reason are those of condition Ready.
	ready  metav1.ConditionStatus
	reason string
	// also are further conditions of the state, as type to reason.
	also map[string]string
	// progress is the kstatus condition that is present: Reconciling, Stalled or none.
	progress string
	// events are those the way into the state deserves.
	events []string
	// check looks at what a table cannot say.
	check func(w *world, o client.Object)
	// cure takes the cause away, without touching the object.
	cure func(w *world, o client.Object)
	// cured is the reason of Ready after that; empty means Ready.
	cured string
}

// reasons lists the reasons a row reaches.
func (r row) reasons() []string {
	out := []string{r.reason}
	for _, reason := range r.also {
		out = append(out, reason)
	}
	if r.cure != nil {
		out = append(out, r.curedReason())
	}
	return out
}

func (r row) curedReason() string {
	if r.cured == "" {
		return v1alpha1.ReasonReady
	}
	return r.cured
}

func rows() []row {
	return slices.Concat(profileRows, backupRows, gatewayRows, scheduleRows, pendingRows)
}

func TestRows(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			o := r.make(w)
			w.awaitCondition(o, v1alpha1.ConditionReady, r.ready, r.reason)
			for conditionType, reason := range r.also {
				w.awaitReason(o, conditionType, reason)
			}
			w.settle()
			r.holds(w, o)
			r.told(w, o, r.events)
			if r.check != nil {
				r.check(w, o)
			}
			if r.cure == nil {
				return
			}
			r.cure(w, o)
			status := metav1.ConditionFalse
			if r.cured == "" {
				status = metav1.ConditionTrue
			}
			w.awaitCondition(o, v1alpha1.ConditionReady, status, r.curedReason())
			w.settle()
			shape(w, o)
		})
	}
}

// holds checks that the state is the wanted one once the system has settled.
func (r row) holds(w *world, o client.Object) {
	w.Helper()
	w.get(o)
	shape(w, o)
	c := meta.FindStatusCondition(conditionsOf(o), v1alpha1.ConditionReady)
	if c.Status != r.ready || c.Reason != r.reason {
		w.Errorf("settled in another state:\n%s", summary(o))
	}
	for _, p := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if got := meta.FindStatusCondition(conditionsOf(o), p) != nil; got != (p == r.progress) {
			w.Errorf("condition %s present: %v, want %q only:\n%s", p, got, r.progress, summary(o))
		}
	}
	if observedGeneration(o) != o.GetGeneration() {
		w.Errorf("observedGeneration %d of generation %d", observedGeneration(o), o.GetGeneration())
	}
}

// told checks the events: one for each meaningful change, none besides.
func (r row) told(w *world, o client.Object, want []string) {
	w.Helper()
	slices.Sort(want)
	w.await("events", func() (bool, string) {
		got := w.events(o)
		slices.Sort(got)
		return slices.Equal(got, want), "events " + quoteAll(got) + ", want " + quoteAll(want)
	})
}

func quoteAll(list []string) string {
	out := "["
	for _, s := range list {
		out += " " + s + ";"
	}
	return out + " ]"
}

// shape checks that the conditions are of the form that kstatus and people rely on.
func shape(w *world, o client.Object) {
	w.Helper()
	ready := meta.FindStatusCondition(conditionsOf(o), v1alpha1.ConditionReady)
	if ready == nil {
		w.Fatalf("no condition Ready:\n%s", summary(o))
	}
	for _, c := range conditionsOf(o) {
		if c.ObservedGeneration != o.GetGeneration() || c.LastTransitionTime.IsZero() || c.Message == "" {
			w.Errorf("condition %s lacks generation, time or message:\n%s", c.Type, summary(o))
		}
		if !slices.Contains(reasonNames(w.T), c.Reason) {
			w.Errorf("condition %s has the reason %q, which is not in reasons.go", c.Type, c.Reason)
		}
	}
	if ready.Status == metav1.ConditionTrue {
		for _, p := range []string{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
			if meta.FindStatusCondition(conditionsOf(o), p) != nil {
				w.Errorf("Ready and %s at once:\n%s", p, summary(o))
			}
		}
	}
}

// awaitReason waits until a condition has a reason.
func (w *world) awaitReason(o client.Object, conditionType, reason string) {
	w.Helper()
	w.await(conditionType+" "+reason, func() (bool, string) {
		w.get(o)
		c := meta.FindStatusCondition(conditionsOf(o), conditionType)
		return c != nil && c.Reason == reason, summary(o)
	})
}
