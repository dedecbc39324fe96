package localapi

import (
	"context"
	"net/http"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/store"
)

// Backups lists the backups of a profile, newest first.
func (c *Client) Backups(ctx context.Context, profile string) ([]BackupInfo, error) {
	var list struct {
		Data []BackupInfo `json:"data"`
	}
	err := c.call(ctx, profile, http.MethodGet, profilePath(profile)+"/backups", nil, &list)
	return list.Data, err
}

// Backup has the gateway make a verified backup of a profile.
func (c *Client) Backup(ctx context.Context, profile string, r BackupRequest) (BackupInfo, error) {
	var out BackupInfo
	err := c.call(ctx, profile, http.MethodPost, profilePath(profile)+"/backups", r, &out)
	return out, err
}

// Restore has the gateway replace a profile's store by that of a backup.
func (c *Client) Restore(ctx context.Context, profile string, r RestoreRequest) (backup.Restored, error) {
	var out backup.Restored
	err := c.call(ctx, profile, http.MethodPost, profilePath(profile)+"/restore", r, &out)
	return out, err
}

// Import has the gateway add the sessions of a copied store to a profile's.
func (c *Client) Import(ctx context.Context, profile string, r ImportRequest) (store.ImportReport, error) {
	var out store.ImportReport
	err := c.call(ctx, profile, http.MethodPost, profilePath(profile)+"/import", r, &out)
	return out, err
}
