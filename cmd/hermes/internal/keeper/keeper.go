// Package keeper looks after a profile's data for the command line: through the profile's gateway when that serves it,
// else in this process, under the store's lock. Either way there is one writer of a store; which one it is shows only in
// how fast the answer comes. It must never open a store itself.
//
// Implements design section 10, "One writer per store", for hermes profile.
package keeper

import (
	"context"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Keeper keeps one profile's data. Paths in requests are absolute.
type Keeper interface {
	// Backups lists the backups in the profile's own directory, newest first.
	Backups(ctx context.Context) ([]localapi.BackupInfo, error)
	// Backup makes a verified backup.
	Backup(ctx context.Context, r localapi.BackupRequest) (localapi.BackupInfo, error)
	// Restore replaces the store by that of a backup.
	Restore(ctx context.Context, r localapi.RestoreRequest) (backup.Restored, error)
	// Import adds the sessions of a copied store.
	Import(ctx context.Context, path string) (store.ImportReport, error)
}

// Served is a profile that a gateway has open.
type Served struct {
	Client  *localapi.Client
	Profile string
}

var _ Keeper = Served{}

// Backups implements Keeper.
func (s Served) Backups(ctx context.Context) ([]localapi.BackupInfo, error) {
	return s.Client.Backups(ctx, s.Profile)
}

// Backup implements Keeper.
func (s Served) Backup(ctx context.Context, r localapi.BackupRequest) (localapi.BackupInfo, error) {
	return s.Client.Backup(ctx, s.Profile, r)
}

// Restore implements Keeper.
func (s Served) Restore(ctx context.Context, r localapi.RestoreRequest) (backup.Restored, error) {
	return s.Client.Restore(ctx, s.Profile, r)
}

// Import implements Keeper.
func (s Served) Import(ctx context.Context, path string) (store.ImportReport, error) {
	return s.Client.Import(ctx, s.Profile, localapi.ImportRequest{Path: path})
}

// Local is a profile that nobody has open.
type Local struct{ profile.Offline }

var _ Keeper = Local{}

// Backups implements Keeper.
func (l Local) Backups(context.Context) ([]localapi.BackupInfo, error) {
	list, err := l.Offline.Backups()
	return localapi.BackupInfos(list), err
}

// Backup implements Keeper.
func (l Local) Backup(ctx context.Context, r localapi.BackupRequest) (localapi.BackupInfo, error) {
	made, err := l.Offline.Backup(ctx, profile.BackupRequest{
		Dir: r.Directory, Selection: backup.Selection{Secrets: r.Secrets, Workspace: r.Workspace},
	})
	return localapi.NewBackupInfo(made), err
}

// Restore implements Keeper.
func (l Local) Restore(ctx context.Context, r localapi.RestoreRequest) (backup.Restored, error) {
	return l.Offline.Restore(ctx, profile.RestoreRequest(r))
}
