package statusview

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// TestReadyAndYet: what a Ready profile's other conditions say is shown, and changes neither verdict nor count.
func TestReadyAndYet(t *testing.T) {
	served := func(message string) metav1.Condition {
		return condition(v1alpha1.ConditionServed, metav1.ConditionTrue, time.Hour, v1alpha1.ReasonServed, message)
	}
	backup := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(v1alpha1.ConditionBackedUp, status, time.Hour, reason, message)
	}
	for name, c := range map[string]struct {
		with    metav1.Condition
		line    string
		warning string
	}{
		"nothing to say":   {served(v1alpha1.MessageServed), "✓ Profile alice   1h     ready\n", ""},
		"a fallback":       {served("fallbacks answer because openai/x failed: 401"), "✓ Profile alice   1h     fallbacks answer because openai/x failed: 401\n", ""},
		"backed up":        {backup(metav1.ConditionTrue, v1alpha1.ReasonBackedUp, "verified copy"), "✓ Profile alice   1h     ready\n", ""},
		"the first backup": {backup(metav1.ConditionFalse, v1alpha1.ReasonBackupPending, "soon"), "✓ Profile alice   1h     ready\n", ""},
		"a failed backup":  {backup(metav1.ConditionFalse, v1alpha1.ReasonBackupFailed, "disk full"), "! Profile alice   1h     backup failed: disk full\n", v1alpha1.ReasonBackupFailed},
	} {
		p := v1alpha1.Profile{ObjectMeta: object("alice")}
		p.Status = v1alpha1.ProfileStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{condition("Ready", metav1.ConditionTrue, time.Hour, "Ready", ""), c.with}}
		view := New(Snapshot{Profiles: []v1alpha1.Profile{p}}, plane(), now)
		text := Render(view, Options{Terminal: Terminal{Width: NoLimit}, Now: now})
		if d := JSON(view); !strings.Contains(text, c.line) || d.Ready != 1 || d.NeedAttention != 0 || d.Objects[0].Warning != c.warning {
			t.Errorf("%s: %+v\n%s", name, d, text)
		}
		if remedy := strings.Contains(text, "→ hermes status profile/alice"); remedy != (c.warning != "") {
			t.Errorf("%s: remedy %t\n%s", name, remedy, text)
		}
	}
}
