package conformance

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/node"
)

// backedUp makes the profile alice, which declares backups and whose runtime says how they stand.
func backedUp(reason, message string) func(*world) client.Object {
	return func(w *world) client.Object {
		w.profilesOf().setHealth("alice", node.Health{Message: "open", Backup: &node.BackupHealth{Reason: reason, Message: message}})
		return w.alice(func(s *v1alpha1.ProfileSpec) { s.Backup = &v1alpha1.BackupSpec{Schedule: "0 3 * * *"} })
	}
}

// A profile answers also when its backups fail, so Ready stays True in each of these states.
var backupRows = []row{
	{
		name: "profile that is backed up", make: backedUp(v1alpha1.ReasonBackedUp, "verified copy of 2026-01-02T03:00:00Z"),
		ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionBackedUp: v1alpha1.ReasonBackedUp},
	},
	{
		name: "profile before its first backup", make: backedUp(v1alpha1.ReasonBackupPending, "the first backup is about to be made"),
		ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionBackedUp: v1alpha1.ReasonBackupPending},
	},
	{
		name: "profile whose backup failed", make: backedUp(v1alpha1.ReasonBackupFailed, "no space left"),
		ready: yes, reason: v1alpha1.ReasonReady, events: readyEvent,
		also: map[string]string{v1alpha1.ConditionBackedUp: v1alpha1.ReasonBackupFailed},
	},
	{
		name: "profile with a backup schedule that is none", ready: no, reason: v1alpha1.ReasonConfigInvalid, progress: stalled,
		make: func(w *world) client.Object {
			return w.alice(func(s *v1alpha1.ProfileSpec) { s.Backup = &v1alpha1.BackupSpec{Schedule: "every night"} })
		},
		events: []string{"Warning ConfigInvalid"},
		cure:   editProfile(func(s *v1alpha1.ProfileSpec) { s.Backup.Schedule = "@daily" }),
	},
}
