package profile

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
)

// Offline is a profile that no gateway serves. Its operations take the store's lock for as long as they run, so they fail
// with store.ErrStoreBusy while somebody serves it after all.
type Offline struct {
	Paths home.Paths
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Backup is Runtime.Backup.
func (o Offline) Backup(ctx context.Context, req BackupRequest) (backup.Backup, error) {
	src := backupSource(o.Paths, func(ctx context.Context, path string) error {
		s, err := openStore(ctx, o.Paths.Store(), store.Options{Log: o.Log, Clock: o.Clock})
		if err != nil {
			return err
		}
		return errors.Join(s.Snapshot(ctx, path), s.Close())
	})
	return backup.Create(ctx, src, createOptions(o.Paths, req, o.Clock.Now(), o.Log))
}

// Backups is Runtime.Backups.
func (o Offline) Backups() ([]backup.Entry, error) {
	return backup.List(BackupDir(o.Paths), o.Paths.Name)
}

// Restore is Runtime.Restore.
func (o Offline) Restore(ctx context.Context, req RestoreRequest) (backup.Restored, error) {
	release, err := store.Claim(o.Paths.Store())
	if err != nil {
		return backup.Restored{}, err
	}
	done, err := o.restore(ctx, req)
	return done, errors.Join(err, release())
}

func (o Offline) restore(ctx context.Context, req RestoreRequest) (backup.Restored, error) {
	if _, err := backup.Recover(o.Paths.Home); err != nil {
		return backup.Restored{}, err
	}
	staged, err := stageRestore(ctx, o.Paths, req, backup.RestoreOptions{Files: req.Files, Now: o.Clock.Now(), Log: o.Log})
	if err != nil {
		return backup.Restored{}, err
	}
	if req.DryRun {
		return staged.Plan(), staged.Discard()
	}
	return staged.Commit()
}

// Import is Runtime.Import. A home without a store gets one.
func (o Offline) Import(ctx context.Context, path string) (store.ImportReport, error) {
	s, err := openStore(ctx, o.Paths.Store(), store.Options{Log: o.Log, Clock: o.Clock})
	if err != nil {
		return store.ImportReport{}, err
	}
	report, err := s.Import(ctx, path, store.ImportOptions{Profile: o.Paths.Name})
	return report, errors.Join(err, s.Close())
}
