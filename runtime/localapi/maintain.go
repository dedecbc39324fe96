package localapi

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Codes of errors about stored sessions, beside session_not_found.
const (
	CodeSessionAmbiguous = "session_ambiguous"
	CodeSessionBusy      = "session_busy"
	CodeTitleTaken       = "title_taken"
	CodeTitleInvalid     = "title_invalid"
	// CodeStoreHeld says that a maintenance was refused; its message has several lines (rule S-141).
	CodeStoreHeld = "store_held"
)

// maintain serves optimize, optimize-storage and prune: they run in the process that owns the store.
func (h *handler) maintain(w http.ResponseWriter, r *http.Request, p Profile) error {
	var ask MaintenanceRequest
	if e := decode(w, r, &ask); e != nil {
		return e
	}
	if ask.OlderThanSeconds < 0 {
		return badRequest("older_than_seconds must not be negative")
	}
	m := profile.Maintenance{DryRun: ask.DryRun, Force: ask.Force}
	out := MaintenanceResult{DryRun: ask.DryRun}
	var done profile.Maintained
	var err error
	switch action := r.PathValue("action"); action {
	case "optimize":
		done, err = p.OptimizeStore(r.Context(), m)
	case "optimize-storage":
		done, err = p.OptimizeStorage(r.Context(), m)
	case "prune":
		var gone store.Pruned
		gone, done, err = p.PruneSessions(r.Context(), store.PruneOptions{
			OlderThan: time.Duration(ask.OlderThanSeconds) * time.Second, Source: ask.Source, DryRun: ask.DryRun,
		}, ask.Force)
		out.Deleted = &Deleted{Sessions: append([]string{}, gone.Sessions...), Messages: gone.Messages}
	default:
		return notFound("unknown_path", "there is no maintenance %q: use optimize, optimize-storage or prune", action)
	}
	if err != nil {
		return err
	}
	for _, holder := range done.Holders {
		what := strings.Join(holder.Files, ", ")
		if what == "" {
			what = holder.Uninspectable
		}
		out.PassedOver = append(out.PassedOver, holder.String()+": "+what)
	}
	out.SizeBytes, out.FreeBytes, out.SizeAfterBytes = done.Before.SizeBytes, done.Before.FreeBytes, done.BytesAfter
	out.Vacuumed, out.Merged, out.Indexed = done.Vacuumed, done.Merged, done.Indexed
	out.IndexVersion, out.IndexMissing = done.Index.Version, done.Index.Missing
	writeJSON(w, http.StatusOK, out)
	return nil
}

// storedError is toError for what only stored sessions can run into.
func (h *handler) storedError(err error, r *http.Request) *Error {
	var held *profile.HeldError
	var turn *agent.Error
	conflict := func(code string) *Error {
		return &Error{Status: http.StatusConflict, Type: "invalid_request_error", Code: code, Message: err.Error(), final: true}
	}
	switch {
	case errors.As(err, &held):
		e := conflict(CodeStoreHeld)
		e.Message = store.Refusal{
			Command: "hermes sessions " + r.PathValue("action"), Database: held.Database, Profile: r.PathValue("profile"), Holders: held.Holders,
		}.String()
		return e
	case errors.As(err, &turn) && turn.Kind == agent.KindBusy:
		e := conflict(CodeSessionBusy)
		e.Message += ": wait for it, or force it to stop"
		return e
	case errors.Is(err, store.ErrNoSession):
		return notFound("session_not_found", "there is no session %q", r.PathValue("session"))
	case errors.Is(err, store.ErrAmbiguousSession):
		return conflict(CodeSessionAmbiguous)
	case errors.Is(err, store.ErrTitleTaken):
		return conflict(CodeTitleTaken)
	case errors.Is(err, store.ErrBadTitle):
		e := badRequest("%v", err)
		e.Code = CodeTitleInvalid
		return e
	case errors.Is(err, store.ErrEmptyQuery):
		return badRequest("%v", err)
	default:
		return toError(err, h.now())
	}
}
