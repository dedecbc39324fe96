package statusview

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

func TestSummary(t *testing.T) {
	rows := func(verdicts ...Verdict) View {
		var v View
		for _, verdict := range verdicts {
			v.Rows = append(v.Rows, Row{Verdict: verdict})
		}
		return v
	}
	for want, v := range map[string]View{
		"empty":                  rows(),
		"1 ready":                rows(Ready),
		"all 2 ready":            rows(Ready, Ready),
		"1 ready, 1 suspended":   rows(Ready, Suspended),
		"1 suspended":            rows(Suspended),
		"1 of 3 needs attention": rows(NotReady, Ready, NotImplemented),
		"2 of 2 need attention":  rows(NotReady, Progressing),
		"2 ready, 1 suspended, 1 not acted on yet": rows(Ready, Suspended, NotImplemented, Ready),
	} {
		if got := summary(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A kind without behaviour has a mark of its own and no remedy, also on a terminal that has only ASCII.
func TestNotImplementedIsNeutral(t *testing.T) {
	s := Snapshot{Schedules: []v1alpha1.Schedule{{ObjectMeta: object("brief"), Status: v1alpha1.ScheduleStatus{
		ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionFalse, time.Hour, v1alpha1.ReasonNotImplemented, "m")},
	}}}}
	view := New(s, plane(), now)
	for ascii, mark := range map[bool]string{false: "○ Schedule", true: "o Schedule"} {
		text := Render(view, Options{Now: now, Terminal: Terminal{ASCII: ascii}})
		if !strings.Contains(text, mark) || strings.Contains(text, "hermes status") || !strings.Contains(text, "does not act on it yet") {
			t.Errorf("want the mark %q and no remedy:\n%s", mark, text)
		}
	}
	if d := JSON(view); d.NeedAttention != 0 || d.Ready != 0 || d.Total != 1 || d.Objects[0].Verdict != NotImplemented {
		t.Errorf("JSON: %+v", d)
	}
}
