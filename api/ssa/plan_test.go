package ssa

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPlan(t *testing.T) {
	then := metav1.NewTime(time.Unix(1000, 0).UTC())
	now := time.Unix(2000, 0).UTC()
	w := StatusWriter{Manager: "me", Now: func() time.Time { return now }, Owned: Owned{ConditionTypes: []string{"Ready", "Stalled"}, Fields: []string{"n"}}}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", Message: "m", ObservedGeneration: 1}
	with := func(f func(*metav1.Condition)) metav1.Condition { c := ready; f(&c); return c }
	stored := with(func(c *metav1.Condition) { c.LastTransitionTime = then })
	cases := []struct {
		name       string
		have       map[string]any
		conditions []metav1.Condition
		fields     map[string]any
		differs    bool
		since      time.Time
	}{
		{"first", map[string]any{}, []metav1.Condition{ready}, map[string]any{"n": 1}, true, now},
		{"same", map[string]any{"n": int64(1), "conditions": []any{stored}}, []metav1.Condition{ready}, map[string]any{"n": 1}, false, then.Time},
		{"others' fields do not count", map[string]any{"n": int64(1), "x": "theirs", "conditions": []any{stored}}, []metav1.Condition{ready}, map[string]any{"n": 1}, false, then.Time},
		{"field", map[string]any{"n": int64(2), "conditions": []any{stored}}, []metav1.Condition{ready}, map[string]any{"n": 1}, true, then.Time},
		{"field removed", map[string]any{"n": int64(2), "conditions": []any{stored}}, []metav1.Condition{ready}, nil, true, then.Time},
		{"message keeps the time", map[string]any{"conditions": []any{stored}}, []metav1.Condition{with(func(c *metav1.Condition) { c.Message = "other" })}, nil, true, then.Time},
		{"status moves the time", map[string]any{"conditions": []any{stored}}, []metav1.Condition{with(func(c *metav1.Condition) { c.Status = metav1.ConditionFalse })}, nil, true, now},
		{"generation", map[string]any{"conditions": []any{stored}}, []metav1.Condition{with(func(c *metav1.Condition) { c.ObservedGeneration = 2 })}, nil, true, then.Time},
		{"condition removed", map[string]any{"conditions": []any{stored, metav1.Condition{Type: "Stalled", Status: metav1.ConditionTrue}}}, []metav1.Condition{ready}, nil, true, then.Time},
		{"others' conditions do not count", map[string]any{"conditions": []any{stored, metav1.Condition{Type: "Served"}}}, []metav1.Condition{ready}, nil, false, then.Time},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, err := toJSONValue(c.have)
			if err != nil {
				t.Fatal(err)
			}
			want, differs, err := w.plan(v.(map[string]any), c.conditions, c.fields)
			if err != nil || differs != c.differs {
				t.Fatalf("differs %v (%v), want %v", differs, err, c.differs)
			}
			if got := conditionsByType(want)["Ready"].LastTransitionTime; !got.Time.Equal(c.since) {
				t.Errorf("transition time %s, want %s", got, c.since)
			}
		})
	}
}

func TestPlanRefusesWhatIsNotOwned(t *testing.T) {
	w := StatusWriter{Manager: "me", Now: time.Now, Owned: Owned{ConditionTypes: []string{"Ready"}}}
	if _, _, err := w.plan(nil, []metav1.Condition{{Type: "Served"}}, nil); err == nil {
		t.Error("a condition of another writer was planned")
	}
	if _, _, err := w.plan(nil, nil, map[string]any{"gateway": 1}); err == nil {
		t.Error("a field of another writer was planned")
	}
}
