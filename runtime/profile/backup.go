package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/home"
	"hermes.dev/hermes/runtime/store"
)

// BackupRequest says what a backup holds and where it goes.
type BackupRequest struct {
	// Dir is an absolute directory; "" is the profile's own, where scheduled ones go.
	Dir string
	// Selection adds secrets and the workspace, which are left out otherwise.
	backup.Selection
	// Trigger is backup.Manual unless set.
	Trigger backup.Trigger
}

// BackupDir is the directory of a profile's backups, in its home.
func BackupDir(paths home.Paths) string { return filepath.Join(paths.Backups(), "profile") }

// Backup makes a verified backup while turns go on.
func (r *Runtime) Backup(ctx context.Context, req BackupRequest) (b backup.Backup, err error) {
	if err := r.admit(); err != nil {
		return backup.Backup{}, err
	}
	defer r.leave()
	defer r.catch(&err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.closing, func() { cancel(ErrClosed) })()
	src := backupSource(r.o.Paths, func(ctx context.Context, path string) error {
		s, release, err := r.store.acquire(ctx)
		if err != nil {
			return err
		}
		defer release()
		return s.Snapshot(ctx, path)
	})
	o := createOptions(r.o.Paths, req, r.o.Clock.Now(), r.o.Log)
	b, err = backup.Create(ctx, src, o)
	if err == nil && o.Trigger == backup.Manual && req.Dir == "" {
		r.noteBackup()
	}
	return b, err
}

func createOptions(paths home.Paths, req BackupRequest, now time.Time, log logr.Logger) backup.CreateOptions {
	o := backup.CreateOptions{Dir: req.Dir, Selection: req.Selection, Trigger: req.Trigger, Now: now, Log: log}
	if o.Dir == "" {
		o.Dir = BackupDir(paths)
	}
	o.Foreign = filepath.Clean(o.Dir) != BackupDir(paths)
	if o.Trigger == "" {
		o.Trigger = backup.Manual
	}
	return o
}

// backupSource is a profile as a backup sees it. A home without a store has no snapshot; one whose store waits for a
// restore to be finished has one, because opening it finishes that.
func backupSource(paths home.Paths, snapshot func(context.Context, string) error) backup.Source {
	src := backup.Source{Profile: paths.Name, Home: paths.Home, Check: checkSnapshot}
	if _, err := os.Lstat(paths.Store()); err == nil || backup.Pending(paths.Home) { // lstat opens nothing (S-133)
		src.Snapshot = snapshot
	}
	return src
}

func checkSnapshot(ctx context.Context, path string) (backup.Figures, error) {
	f, err := store.Check(ctx, path)
	return backup.Figures(f), err
}

// Backups lists the backups in the profile's own directory, newest first.
func (r *Runtime) Backups() ([]backup.Entry, error) {
	return backup.List(BackupDir(r.o.Paths), r.Name())
}

// openStore opens a profile's store, after finishing a restore that was cut off. Nothing else in this package opens it.
func openStore(ctx context.Context, path string, o store.Options) (*store.Store, error) {
	dir := filepath.Dir(path)
	if backup.Pending(dir) {
		release, err := store.Claim(path)
		if err != nil {
			return nil, err
		}
		_, err = backup.Recover(dir)
		if err := errors.Join(err, release()); err != nil {
			return nil, fmt.Errorf("finish a restore that was cut off: %w", err)
		}
		o.Log.Info("finished a restore that was cut off", "home", dir)
	}
	return store.Open(ctx, path, o)
}
