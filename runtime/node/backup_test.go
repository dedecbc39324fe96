package node

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// TestBackedUp is the truth table of the condition.
func TestBackedUp(t *testing.T) {
	for _, c := range []struct {
		name string
		last string // the reason of the condition so far, "" for none
		now  *BackupHealth
		want string // status and reason, "" for no condition
	}{
		{"nothing known yet", "", nil, ""},
		{"closed: the last word stays", v1alpha1.ReasonBackedUp, nil, "True BackedUp"},
		{"made", "", &BackupHealth{Reason: v1alpha1.ReasonBackedUp, Message: "m"}, "True BackedUp"},
		{"failed after one was made", v1alpha1.ReasonBackedUp, &BackupHealth{Reason: v1alpha1.ReasonBackupFailed, Message: "m"}, "False BackupFailed"},
		{"pending", "", &BackupHealth{Reason: v1alpha1.ReasonBackupPending, Message: "m"}, "False BackupPending"},
	} {
		p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Generation: 4}}
		if c.last != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionBackedUp, Status: metav1.ConditionTrue, Reason: c.last, Message: "old"}}
		}
		got := ""
		for _, k := range backedUp(p, c.now) {
			got = string(k.Status) + " " + k.Reason
			if k.Type != v1alpha1.ConditionBackedUp || k.ObservedGeneration != 4 || k.Message == "" {
				t.Errorf("%s: %+v", c.name, k)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := (&profileAgent{}).backedUp(&v1alpha1.Profile{}); got != nil {
		t.Errorf("without spec.backup: %v", got)
	}
}
