package node

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// BackupHealth is what is known of a profile's scheduled backups.
type BackupHealth struct {
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Message says when the newest one was made, or what is wrong and what to do.
	Message string
}

// backedUp is condition BackedUp of a profile: none without spec.backup, the last known one while the profile is not
// open, else what its runtime says.
func (a *profileAgent) backedUp(p *v1alpha1.Profile) []metav1.Condition {
	if p.Spec.Backup == nil {
		return nil
	}
	h, _ := a.Profiles.Health(p.Name)
	return backedUp(p, h.Backup)
}

func backedUp(p *v1alpha1.Profile, now *BackupHealth) []metav1.Condition {
	if now == nil {
		last := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionBackedUp)
		if last == nil {
			return nil
		}
		kept := *last
		kept.ObservedGeneration = p.Generation
		return []metav1.Condition{kept}
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionBackedUp, Status: metav1.ConditionTrue,
		Reason: now.Reason, Message: now.Message, ObservedGeneration: p.Generation,
	}
	if now.Reason != v1alpha1.ReasonBackedUp {
		c.Status = metav1.ConditionFalse
	}
	return []metav1.Condition{c}
}
