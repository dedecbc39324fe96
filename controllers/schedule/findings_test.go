package schedule

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/conditions"
)

// TestFindings is the truth table of Ready over the profile and the gateway's report.
func TestFindings(t *testing.T) {
	const generation = 3
	served := func(status metav1.ConditionStatus, reason string) *v1alpha1.Profile {
		p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Name: "alice"}}
		p.Spec.Suspended = reason == v1alpha1.ReasonSuspended
		if reason != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionServed, Status: status, Reason: reason}}
		}
		return p
	}
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	open := served(yes, v1alpha1.ReasonServed)
	for _, c := range []struct {
		name       string
		profile    *v1alpha1.Profile
		status     metav1.ConditionStatus
		reason     string // of the report, "" for none
		generation int64
		want       string // status, reason and kstatus condition of the summary
	}{
		{"no profile", nil, yes, "Scheduled", generation, "False ProfileNotFound Stalled"},
		{"never opened", served(yes, ""), yes, "Scheduled", generation, "False ProfileNotServed Reconciling"},
		{"gateway gone, old report", served(metav1.ConditionUnknown, "WaitingForGateway"), yes, "Scheduled", generation, "False ProfileNotServed Reconciling"},
		{"profile suspended", served(no, "Suspended"), yes, "Scheduled", generation, "False ProfileNotServed"},
		{"model refuses: still open", served(no, "ModelRefused"), yes, "Scheduled", generation, "True Ready"},
		{"not reported", open, "", "", 0, "False Reconciling Reconciling"},
		{"report on an older spec", open, yes, "Scheduled", generation - 1, "False Reconciling Reconciling"},
		{"scheduled", open, yes, "Scheduled", generation, "True Ready"},
		{"completed", open, yes, "Completed", generation, "True Ready"},
		{"suspended", open, no, "Suspended", generation, "False Suspended"},
		{"bad schedule", open, no, "ScheduleInvalid", generation, "False ScheduleInvalid Stalled"},
		{"bad zone", open, no, "TimezoneInvalid", generation, "False TimezoneInvalid Stalled"},
		{"bad target", open, no, "DeliverInvalid", generation, "False DeliverInvalid Stalled"},
		{"refused", open, no, "JobRefused", generation, "False JobRefused Stalled"},
		{"store broken", open, no, "JobStoreUnavailable", generation, "False JobStoreUnavailable Stalled"},
	} {
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Name: "s", Generation: generation}}
		if c.reason != "" {
			s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionScheduled, Status: c.status, Reason: c.reason, ObservedGeneration: c.generation}}
		}
		var got []string
		for _, k := range conditions.Summarise(generation, "scheduled", findings(s, c.profile)...) {
			switch k.Type {
			case v1alpha1.ConditionReady:
				got = append(got, string(k.Status), k.Reason)
			case v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled:
				got = append(got, k.Type)
			case v1alpha1.ConditionScheduled:
				t.Errorf("%s: the gateway's condition is written", c.name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
