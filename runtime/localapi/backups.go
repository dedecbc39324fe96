package localapi

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"hermes.dev/hermes/runtime/backup"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Keeper is what a profile offers for looking after its data. A Profile may implement it.
type Keeper interface {
	// Backup makes a verified backup.
	Backup(ctx context.Context, r profile.BackupRequest) (backup.Backup, error)
	// Backups lists the backups in the profile's own directory, newest first.
	Backups() ([]backup.Entry, error)
	// Restore replaces the store by that of a backup.
	Restore(ctx context.Context, r profile.RestoreRequest) (backup.Restored, error)
	// Import adds the sessions of another store.
	Import(ctx context.Context, path string) (store.ImportReport, error)
}

var _ Keeper = (*profile.Runtime)(nil)

// BackupRequest is the body of POST /v1/profiles/P/backups.
type BackupRequest struct {
	// Directory is absolute; "" is the profile's own.
	Directory string `json:"directory,omitempty"`
	Secrets   bool   `json:"secrets,omitempty"`
	Workspace bool   `json:"workspace,omitempty"`
}

// BackupInfo is one backup.
type BackupInfo struct {
	Path string `json:"path"`
	// Bytes is the size of the file.
	Bytes     int64           `json:"bytes"`
	Created   time.Time       `json:"created"`
	Trigger   backup.Trigger  `json:"trigger,omitempty"`
	Store     *backup.Figures `json:"store,omitempty"`
	Files     int             `json:"files"`
	Secrets   bool            `json:"secrets,omitempty"`
	Workspace bool            `json:"workspace,omitempty"`
	// Skipped names what was left out and why.
	Skipped []string `json:"skipped,omitempty"`
	// Problem is why the file cannot be used, empty for one that can.
	Problem string `json:"problem,omitempty"`
}

// RestoreRequest is the body of POST /v1/profiles/P/restore.
type RestoreRequest struct {
	// Path of the backup, absolute.
	Path       string `json:"path"`
	Files      bool   `json:"files,omitempty"`
	DryRun     bool   `json:"dry_run,omitempty"`
	AnyProfile bool   `json:"any_profile,omitempty"`
}

// ImportRequest is the body of POST /v1/profiles/P/import.
type ImportRequest struct {
	// Path of a copy of a store that nobody has open, absolute.
	Path string `json:"path"`
}

// backupRoutes adds what a Keeper offers.
func (h *handler) backupRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/profiles/{profile}/backups", h.withKeeper(h.listBackups))
	mux.HandleFunc("POST /v1/profiles/{profile}/backups", h.withKeeper(h.makeBackup))
	mux.HandleFunc("POST /v1/profiles/{profile}/restore", h.withKeeper(h.restore))
	mux.HandleFunc("POST /v1/profiles/{profile}/import", h.withKeeper(h.importStore))
}

func (h *handler) withKeeper(next func(http.ResponseWriter, *http.Request, Keeper)) http.HandlerFunc {
	return h.withProfile(func(w http.ResponseWriter, r *http.Request, p Profile) {
		keeper, ok := p.(Keeper)
		if !ok {
			writeError(w, notFound("unknown_path", "this gateway keeps no backups"))
			return
		}
		next(w, r, keeper)
	})
}

func (h *handler) listBackups(w http.ResponseWriter, _ *http.Request, p Keeper) {
	list, err := p.Backups()
	if err != nil {
		writeError(w, h.backupError(err))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": backupInfos(list)})
}

// backupInfos is a list of backups as it is shown.
func backupInfos(list []backup.Entry) []BackupInfo {
	out := make([]BackupInfo, len(list))
	for i, e := range list {
		out[i] = newBackupInfo(e.Backup)
		if e.Err != nil {
			out[i].Problem = e.Err.Error()
		}
	}
	return out
}

// newBackupInfo is one backup as it is shown.
func newBackupInfo(b backup.Backup) BackupInfo {
	return BackupInfo{
		Path: b.Path, Bytes: b.Size, Created: b.Created, Trigger: b.Trigger, Store: b.Store,
		Files: len(b.Files), Secrets: b.Secrets, Workspace: b.Workspace, Skipped: b.Skipped,
	}
}

func (h *handler) makeBackup(w http.ResponseWriter, r *http.Request, p Keeper) {
	var body BackupRequest
	if e := decode(w, r, &body); e != nil {
		writeError(w, e)
		return
	}
	if body.Directory != "" && !filepath.IsAbs(body.Directory) {
		writeError(w, badRequest("directory must be an absolute path"))
		return
	}
	made, err := p.Backup(r.Context(), profile.BackupRequest{
		Dir: body.Directory, Selection: backup.Selection{Secrets: body.Secrets, Workspace: body.Workspace},
	})
	if err != nil {
		writeError(w, h.backupError(err))
		return
	}
	writeJSON(w, http.StatusOK, newBackupInfo(made))
}

func (h *handler) restore(w http.ResponseWriter, r *http.Request, p Keeper) {
	var body RestoreRequest
	if e := decode(w, r, &body); e != nil {
		writeError(w, e)
		return
	}
	if !filepath.IsAbs(body.Path) {
		writeError(w, badRequest("path must be the absolute path of a backup"))
		return
	}
	// A restore that has begun to change things is not given up because the client is.
	done, err := p.Restore(context.WithoutCancel(r.Context()), profile.RestoreRequest(body))
	if err != nil {
		writeError(w, h.backupError(err))
		return
	}
	writeJSON(w, http.StatusOK, done)
}

func (h *handler) importStore(w http.ResponseWriter, r *http.Request, p Keeper) {
	var body ImportRequest
	if e := decode(w, r, &body); e != nil {
		writeError(w, e)
		return
	}
	if !filepath.IsAbs(body.Path) {
		writeError(w, badRequest("path must be the absolute path of a copied store"))
		return
	}
	report, err := p.Import(r.Context(), body.Path)
	if err != nil {
		writeError(w, h.backupError(err))
		return
	}
	writeJSON(w, http.StatusOK, report)
}

// backupError maps a failure to what the client sees.
func (h *handler) backupError(err error) *Error {
	fail := func(status int, kind, code string) *Error {
		return &Error{Status: status, Type: kind, Code: code, Message: err.Error(), final: true}
	}
	switch {
	case errors.Is(err, profile.ErrBusy), errors.Is(err, backup.ErrRunning), errors.Is(err, backup.ErrRestoring):
		e := fail(http.StatusConflict, "invalid_request_error", "busy")
		e.final, e.RetryAfter = false, 5
		return e
	case errors.Is(err, backup.ErrNoDirectory):
		return badRequest("%s", err)
	case errors.Is(err, backup.ErrDamaged), errors.Is(err, store.ErrSchema):
		return fail(http.StatusUnprocessableEntity, "invalid_request_error", "backup_unusable")
	case errors.Is(err, fs.ErrNotExist):
		return fail(http.StatusNotFound, "invalid_request_error", "backup_not_found")
	}
	return toError(err, h.now())
}
