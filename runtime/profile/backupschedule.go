package profile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/runtime/backup"
)

// BackupHealth is what a runtime says of its scheduled backups. Both texts change only when a backup was made or failed
// in another way.
type BackupHealth struct {
	// Reason is one of the v1alpha1.Reason constants.
	Reason string
	// Message says when the newest one was made, or what is wrong and what to do.
	Message string
}

// scheduledBackups is guarded by the runtime's mu.
type scheduledBackups struct {
	// plan is what the timer was set for.
	plan   backupPlan
	timer  clock.Timer
	failed time.Time
	health *BackupHealth
	// running says that a backup is being made: a change of the plan takes effect after it.
	running bool
}

// backupPlan is what the configuration says.
type backupPlan struct {
	schedule, zone string
	keep           int
}

// defaultKeep is how many scheduled backups stay when the configuration does not say.
const defaultKeep = 7

func (b *scheduledBackups) stop() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// readBackupPlan takes the plan out of the configuration on disk; a configuration that cannot be read plans nothing,
// which condition Served says.
func (r *Runtime) readBackupPlan() backupPlan {
	config, err := r.config.Read()
	if err != nil {
		return backupPlan{}
	}
	plan := backupPlan{schedule: config.String("backup", "schedule"), zone: config.String("timezone"), keep: defaultKeep}
	if keep, ok := config.Int("backup", "keep"); ok && keep > 0 {
		plan.keep = int(keep)
	}
	return plan
}

// ScheduleBackups makes the schedule in config.yaml the one that is kept. Call it when the home was opened or written
// again. It waits on a timer: a profile without a schedule, and one whose time has not come, cost nothing.
func (r *Runtime) ScheduleBackups() {
	defer r.contain()
	plan := r.readBackupPlan()
	now := r.o.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.backups.running || plan == r.backups.plan {
		return
	}
	r.backups.plan = plan
	r.arm(now)
}

// arm sets the timer for the next backup and says how things stand; r.mu is held.
func (r *Runtime) arm(now time.Time) {
	b := &r.backups
	b.stop()
	if b.plan.schedule == "" {
		b.failed, b.health = time.Time{}, nil
		return
	}
	schedule, err := backup.ParseSchedule(b.plan.schedule, b.plan.zone)
	if err != nil {
		b.health = &BackupHealth{Reason: v1alpha1.ReasonBackupFailed, Message: err.Error()}
		return
	}
	newest, found, err := backup.Newest(BackupDir(r.o.Paths), r.Name())
	if err != nil {
		b.health = &BackupHealth{Reason: v1alpha1.ReasonBackupFailed, Message: err.Error()}
	}
	var last time.Time
	if found {
		last = newest.Created
	}
	if b.failed.IsZero() && err == nil {
		b.health = backupHealth(newest, found, schedule)
	}
	b.timer = r.o.Clock.AfterFunc(schedule.Due(last, b.failed, now).Sub(now), r.backupDue)
}

// backupHealth says how things stand when the last try did not fail.
func backupHealth(newest backup.Entry, found bool, schedule backup.Schedule) *BackupHealth {
	if !found {
		return &BackupHealth{Reason: v1alpha1.ReasonBackupPending, Message: "the first backup is about to be made"}
	}
	what := "no session store yet"
	if newest.Store != nil {
		what = fmt.Sprintf("%d sessions, %d messages", newest.Store.Sessions, newest.Store.Messages)
	}
	return &BackupHealth{Reason: v1alpha1.ReasonBackedUp, Message: fmt.Sprintf("verified copy of %s: %s; next %s",
		newest.Created.UTC().Format(time.RFC3339), what, schedule.Next(newest.Created).UTC().Format(time.RFC3339))}
}

// backupDue is the timer's: it must not block, and it must not use the clock, which may be held.
func (r *Runtime) backupDue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.backups.running {
		return
	}
	r.backups.running, r.backups.timer = true, nil
	r.background.Go(func() {
		defer r.contain()
		r.scheduledBackup()
	})
}

// scheduledBackup makes the backup that is due, prunes, and sets the next one.
func (r *Runtime) scheduledBackup() {
	err := errors.New("the backup was cut off") // unless it comes to its end, also when it panics
	defer func() { r.backupDone(err) }()
	if gate := r.o.BackupGate; gate != nil {
		select {
		case gate <- struct{}{}:
			defer func() { <-gate }()
		case <-r.closing.Done():
			return
		}
	}
	r.mu.Lock()
	keep := r.backups.plan.keep
	r.mu.Unlock()
	var made backup.Backup
	if made, err = r.Backup(r.closing, BackupRequest{Trigger: backup.Scheduled}); err != nil {
		return
	}
	r.o.Log.Info("profile backed up", "path", made.Path, "bytes", made.Size)
	removed, pruneErr := backup.Prune(BackupDir(r.o.Paths), r.Name(), keep)
	for _, e := range removed {
		r.o.Log.V(1).Info("old backup removed", "path", e.Path)
	}
	if pruneErr != nil {
		r.o.Log.Error(pruneErr, "prune backups")
	}
}

// noteBackup takes a backup that a person asked for into account: it may be the one that is due.
func (r *Runtime) noteBackup() {
	now := r.o.Clock.Now()
	r.mu.Lock()
	scheduled := !r.closed && !r.backups.running && r.backups.plan.schedule != ""
	if scheduled {
		r.backups.failed = time.Time{}
		r.arm(now)
	}
	r.mu.Unlock()
	if scheduled {
		r.o.Changed()
	}
}

// workDir matches the part of an error's text that names the directory of one try: the message of a condition that
// stays must not change with each.
var workDir = regexp.MustCompile(`\S*\.partial/`)

// failureMessage is the message of a condition for a failed backup, one line, the same for each try.
func failureMessage(err error) string {
	return workDir.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "")
}

func (r *Runtime) backupDone(err error) {
	now := r.o.Clock.Now()
	plan := r.readBackupPlan()
	r.mu.Lock()
	b := &r.backups
	b.running = false
	if r.closed {
		r.mu.Unlock()
		return
	}
	b.plan, b.failed = plan, time.Time{}
	if err != nil {
		b.failed = now
		b.health = &BackupHealth{Reason: v1alpha1.ReasonBackupFailed, Message: failureMessage(err)}
		r.o.Log.Error(err, "scheduled backup", "profile", r.Name())
	}
	r.arm(now)
	r.mu.Unlock()
	r.o.Changed()
}
