package profile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/profilehome"
)

var night = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// daily is a profile that is backed up at three, two copies kept.
func daily(url string) profilehome.Spec {
	s := profilehome.Model(url, "sk-alice")
	s.Config["backup"] = map[string]any{"schedule": "0 3 * * *", "keep": 2}
	s.Config["timezone"] = "UTC"
	s.Files = map[string]string{"SOUL.md": "You are Alice."}
	return s
}

// TestBackupWhileATurnRuns: the copy holds what was stored so far, and the turn goes on.
func TestBackupWhileATurnRuns(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "slow", Gate: gate})
	turn := make(chan error, 1)
	go func() { _, err := r.say("s", "two"); turn <- err }()
	_, err := r.model.WaitRequests(ctx(t), 2)
	must(t, err)
	b, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	if b.Store == nil || b.Store.Sessions != 1 || b.Store.Messages != 3 || b.Trigger != backup.Manual {
		t.Errorf("%+v", b.Store)
	}
	if _, err := r.runtime.Restore(ctx(t), RestoreRequest{Path: b.Path}); !errors.Is(err, ErrBusy) {
		t.Errorf("restore under a turn: %v", err)
	}
	close(gate)
	must(t, <-turn)
	if got := r.roles("s"); got != "uaua" {
		t.Errorf("rows %s", got)
	}
}

// TestRestoreProfile: verified, the old store kept, and the next turn goes on from the restored rows.
func TestRestoreProfile(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	b, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	r.mustSay("s", "two")
	r.mustSay("other", "three")
	plan, err := r.runtime.Restore(ctx(t), RestoreRequest{Path: b.Path, DryRun: true, Files: true})
	if err != nil || !slices.Contains(plan.Written, "state.db") || r.roles("s") != "uaua" {
		t.Fatalf("dry run %+v %v, rows %s", plan, err, r.roles("s"))
	}
	if !slices.Contains(plan.Left, "config.yaml: the Profile declares it") {
		t.Errorf("left %q", plan.Left)
	}
	done, err := r.runtime.Restore(ctx(t), RestoreRequest{Path: b.Path})
	must(t, err)
	if got := r.roles("s"); got != "ua" {
		t.Errorf("rows %s", got)
	}
	if h := r.runtime.Health(); h.Store == nil || h.Store.Sessions != 1 || h.Reason != "" {
		t.Errorf("health %+v", h)
	}
	r.mustSay("s", "after")
	if got := r.roles("s"); got != "uaua" {
		t.Errorf("rows %s", got)
	}
	old, err := store.Open(ctx(t), done.KeptAside[0], store.Options{Log: logr.Discard(), ReadOnly: true})
	must(t, err)
	defer old.Close()
	if rows, err := old.Messages(ctx(t), "s"); err != nil || len(rows) != 4 {
		t.Errorf("the replaced store holds %d rows: %v", len(rows), err)
	}
}

// TestRestoreOverADamagedStore is what backups are for.
func TestRestoreOverADamagedStore(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	b, err := r.runtime.Backup(ctx(t), BackupRequest{Dir: t.TempDir()})
	must(t, err)
	r.runtime.store.closeUnused()
	path := r.runtime.Paths().Store()
	must(t, os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 1000)), 0o600))
	if _, err := r.say("s", "two"); !errors.Is(err, store.ErrCorrupt) {
		t.Fatal(err)
	}
	if _, err := r.runtime.Backup(ctx(t), BackupRequest{}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("backup of a damaged store: %v", err)
	}
	_, err = r.runtime.Restore(ctx(t), RestoreRequest{Path: b.Path})
	must(t, err)
	r.mustSay("s", "three")
	if got := r.roles("s"); got != "uaua" {
		t.Errorf("rows %s", got)
	}
}

// cutOff leaves a restore of a backup as a kill after its journal was written leaves it.
func (r *rig) cutOff(path string) {
	r.t.Helper()
	home := r.runtime.Paths().Home
	staged, err := stageRestore(ctx(r.t), r.runtime.Paths(), RestoreRequest{Path: path}, backup.RestoreOptions{Now: night, Log: logr.Discard()})
	must(r.t, err)
	stages, _ := filepath.Glob(filepath.Join(home, ".hermes-restore-*Z"))
	stamp := strings.TrimPrefix(filepath.Base(stages[0]), ".hermes-restore-")
	must(r.t, os.Rename(stages[0], stages[0]+".kept")) // the kernel lets go of the lock of who is killed; here it is given up
	must(r.t, staged.Discard())
	must(r.t, os.Rename(stages[0]+".kept", stages[0]))
	must(r.t, os.WriteFile(filepath.Join(home, backup.JournalName), []byte(`{"version":1,"stamp":"`+stamp+`","store":true}`), 0o600))
}

// TestRestoreIsFinishedOnOpen: a restore that was killed after its journal was written is finished before the next use.
func TestRestoreIsFinishedOnOpen(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	b, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	r.mustSay("s", "two")
	r.runtime.store.closeUnused()
	r.cutOff(b.Path)
	if got := r.roles("s"); got != "ua" {
		t.Errorf("rows %s", got)
	}
	if backup.Pending(r.runtime.Paths().Home) {
		t.Error("the journal is still there")
	}
}

// TestRestoreAfterOneThatWasCutOff: the earlier one is finished first, without a store being opened in between.
func TestRestoreAfterOneThatWasCutOff(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	first, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	r.mustSay("s", "two")
	second, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	r.runtime.store.closeUnused()
	r.cutOff(first.Path)
	_, err = r.runtime.Restore(ctx(t), RestoreRequest{Path: second.Path})
	must(t, err)
	if got := r.roles("s"); got != "uaua" {
		t.Errorf("rows %s", got)
	}
}

// TestTwoRuntimesOfOneHome: one that is opened beside a gateway's is refused by the store's lock, and later takes over.
func TestTwoRuntimesOfOneHome(t *testing.T) {
	r := newRig(t)
	r.mustSay("s", "one")
	beside := Open(Options{Paths: r.runtime.Paths(), Clock: clocktesting.NewFakeClock(night), Log: logr.Discard()})
	t.Cleanup(func() { must(t, beside.Close(context.Background())) })
	if _, err := beside.Backup(ctx(t), BackupRequest{}); !errors.Is(err, store.ErrStoreBusy) {
		t.Errorf("backup beside a gateway: %v", err)
	}
	b, err := r.runtime.Backup(ctx(t), BackupRequest{})
	must(t, err)
	if _, err := beside.Restore(ctx(t), RestoreRequest{Path: b.Path}); !errors.Is(err, store.ErrStoreBusy) {
		t.Errorf("restore beside a gateway: %v", err)
	}
	r.mustSay("s", "two")
	must(t, r.runtime.Close(ctx(t)))
	later, err := beside.Backup(ctx(t), BackupRequest{})
	if err != nil || later.Store.Messages != 4 {
		t.Errorf("%+v %v", later.Store, err)
	}
	_, err = beside.Restore(ctx(t), RestoreRequest{Path: b.Path})
	must(t, err)
	if f, err := store.Check(ctx(t), beside.Paths().Store()); err != nil || f.Messages != 2 {
		t.Errorf("%+v %v", f, err)
	}
	if list, err := beside.Backups(); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
}

// awaitBackup waits until the runtime has told of a change and want is true.
func (r *rig) awaitHealth(want func(*BackupHealth) bool) *BackupHealth {
	r.t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		h := r.runtime.Health().Backup
		if want(h) {
			return h
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("backup health %+v", h)
		}
	}
}

// TestScheduledBackups: the first at once, then by the clock, pruned, never two for one time, and told only once.
func TestScheduledBackups(t *testing.T) {
	fake := clocktesting.NewFakeClock(night.Add(-12 * time.Hour))
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", daily(m.URL()), func(o *Options) { o.Clock = fake })
	r.mustSay("s", "one")
	if r.runtime.Health().Backup != nil {
		t.Error("health before the schedule was read")
	}
	r.runtime.ScheduleBackups()
	fake.Step(time.Nanosecond)
	made := func(at time.Time, messages string) {
		t.Helper()
		want := "verified copy of " + at.Format(time.RFC3339)
		h := r.awaitHealth(func(h *BackupHealth) bool { return h != nil && strings.HasPrefix(h.Message, want) })
		if h.Reason != "BackedUp" || !strings.Contains(h.Message, messages) {
			t.Errorf("health %+v", h)
		}
	}
	made(night.Add(-12*time.Hour), "1 sessions, 2 messages; next 2026-01-02T03:00:00Z")
	r.mustSay("s", "two")
	for day := range 3 {
		at := night.AddDate(0, 0, day)
		fake.SetTime(at.Add(-time.Second))
		if list, err := r.runtime.Backups(); err != nil || len(list) != min(day+1, 2) {
			t.Fatalf("before day %d: %d backups, %v", day, len(list), err)
		}
		r.runtime.ScheduleBackups() // a pass over an unchanged home makes none
		fake.SetTime(at)
		made(at, "4 messages")
	}
	list, err := r.runtime.Backups()
	if err != nil || len(list) != 2 || list[0].Trigger != backup.Scheduled {
		t.Errorf("%d kept: %v", len(list), err)
	}
	r.rewrite(profilehome.Model(m.URL(), "sk-alice"))
	r.runtime.Reload()
	r.runtime.ScheduleBackups()
	if h := r.runtime.Health().Backup; h != nil {
		t.Errorf("health without a schedule %+v", h)
	}
	fake.Step(72 * time.Hour)
	if list, _ := r.runtime.Backups(); len(list) != 2 {
		t.Error("a backup without a schedule")
	}
}

// TestMissedBackup: what was due while nothing ran is made up for once.
func TestMissedBackup(t *testing.T) {
	fake := clocktesting.NewFakeClock(night)
	m, root := startModel(t), t.TempDir()
	with := func(o *Options) { o.Clock = fake }
	first := openRig(t, m, root, "alice", daily(m.URL()), with)
	first.runtime.ScheduleBackups()
	fake.Step(time.Nanosecond)
	first.awaitHealth(func(h *BackupHealth) bool { return h.Reason == "BackedUp" })
	must(t, first.runtime.Close(ctx(t)))
	fake.Step(10*24*time.Hour + time.Hour)
	r := openRig(t, m, root, "alice", daily(m.URL()), with)
	r.runtime.ScheduleBackups()
	now := fake.Now().Truncate(time.Second)
	fake.Step(time.Nanosecond)
	r.awaitHealth(func(h *BackupHealth) bool { return strings.Contains(h.Message, "copy of "+now.Format(time.RFC3339)) })
	if list, err := r.runtime.Backups(); err != nil || len(list) != 2 {
		t.Errorf("%d backups after ten missed ones: %v", len(list), err)
	}
}

// TestFailedBackup is told with its cause, tried again, and cured by a person's backup too. The message of two failures
// of one cause is one message: a condition that stays is not written again.
func TestFailedBackup(t *testing.T) {
	fake := clocktesting.NewFakeClock(night)
	m := startModel(t)
	r := openRig(t, m, t.TempDir(), "alice", daily(m.URL()), func(o *Options) { o.Clock = fake })
	path := r.runtime.Paths().Store()
	must(t, os.WriteFile(path, []byte(strings.Repeat("this is no database\n", 1000)), 0o600))
	r.runtime.ScheduleBackups()
	if h := r.runtime.Health().Backup; h.Reason != "BackupPending" {
		t.Errorf("%+v", h)
	}
	fake.Step(time.Nanosecond)
	h := r.awaitHealth(func(h *BackupHealth) bool { return h.Reason == "BackupFailed" })
	if !strings.Contains(h.Message, "is damaged") || strings.Contains(h.Message, ".partial") {
		t.Errorf("%+v", h)
	}
	before := r.changes.Load()
	fake.Step(15 * time.Minute)
	r.await(func() bool { return r.changes.Load() > before })
	if again := r.runtime.Health().Backup; *again != *h {
		t.Errorf("%+v, then %+v", h, again)
	}
	must(t, os.Remove(path))
	if _, err := r.runtime.Backup(ctx(t), BackupRequest{}); err != nil {
		t.Error(err)
	}
	if h := r.runtime.Health().Backup; h.Reason != "BackedUp" || !strings.Contains(h.Message, "no session store yet") {
		t.Errorf("%+v", h)
	}
}

// TestFailureMessage: one line that does not change with each try.
func TestFailureMessage(t *testing.T) {
	err := errors.Join(errors.New("write /h/backups/profile/.alice-20260102T040000.000Z.tar.zst.partial/packed: input/output error"), errors.New("second"))
	if got := failureMessage(err); got != "write packed: input/output error second" {
		t.Error(got)
	}
}

// TestRestoreWaitsForShortUses of the store, such as a listing, but not for long, and not for a caller that is gone.
func TestRestoreWaitsForShortUses(t *testing.T) {
	fake := clocktesting.NewFakeClock(night)
	l := newLazyStore(filepath.Join(t.TempDir(), "state.db"), time.Minute, fake, logr.Discard())
	defer func() { must(t, l.close(ctx(t))) }()
	begin := func(c context.Context) chan error {
		done := make(chan error, 1)
		go func() { done <- l.exclusively(c, func() error { return nil }) }()
		for !fake.HasWaiters() { // the restore waits on the clock
			runtime.Gosched()
		}
		return done
	}
	_, release, err := l.acquire(ctx(t))
	must(t, err)
	done := begin(ctx(t))
	fake.Step(restorePatience)
	if err := <-done; !errors.Is(err, ErrBusy) {
		t.Errorf("out of patience: %v", err)
	}
	gone, cancel := context.WithCancel(context.Background())
	done = begin(gone)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("caller gone: %v", err)
	}
	done = begin(ctx(t))
	release()
	if err := <-done; err != nil {
		t.Errorf("after its user left: %v", err)
	}
	if l.isOpen() {
		t.Error("the store was open while it was replaced")
	}
}

// TestBadSchedule by hand says what to write.
func TestBadSchedule(t *testing.T) {
	m := startModel(t)
	s := daily(m.URL())
	s.Config["backup"] = map[string]any{"schedule": "every night"}
	r := openRig(t, m, t.TempDir(), "alice", s)
	r.runtime.ScheduleBackups()
	if h := r.runtime.Health().Backup; h == nil || h.Reason != "BackupFailed" || !strings.Contains(h.Message, "use five cron fields") {
		t.Errorf("%+v", h)
	}
}

// TestCloseDuringBackup ends it, leaves no half one, and lets nothing run on.
func TestCloseDuringBackup(t *testing.T) {
	fake := clocktesting.NewFakeClock(night)
	m := startModel(t)
	gate := make(chan struct{}, 1)
	r := openRig(t, m, t.TempDir(), "alice", daily(m.URL()), func(o *Options) { o.Clock = fake; o.BackupGate = gate })
	gate <- struct{}{} // another profile's backup runs
	r.runtime.ScheduleBackups()
	fake.Step(time.Nanosecond)
	must(t, r.runtime.Close(context.Background()))
	if list, err := r.runtime.Backups(); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := r.runtime.Backup(ctx(t), BackupRequest{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := r.runtime.Restore(ctx(t), RestoreRequest{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func (r *rig) await(what func() bool) {
	r.t.Helper()
	r.awaitHealth(func(*BackupHealth) bool { return what() })
}
