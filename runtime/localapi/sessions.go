package localapi

import (
	"net/http"
	"strconv"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/store"
)

func (h *handler) listSessions(w http.ResponseWriter, r *http.Request, p Profile) {
	o := store.ListOptions{Source: r.URL.Query().Get("source")}
	if raw := r.URL.Query().Get("limit"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 || n > 1000 {
			writeError(w, badRequest("limit must be a number from 1 to 1000"))
			return
		}
		o.Limit = n
	}
	list, err := p.Sessions(r.Context(), o)
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	out := make([]SessionInfo, 0, len(list))
	for _, s := range list {
		out = append(out, sessionInfo(s))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": out})
}

func (h *handler) getSession(w http.ResponseWriter, r *http.Request, p Profile) {
	id := r.PathValue("session")
	s, messages, ok, err := p.Session(r.Context(), id)
	switch {
	case err != nil:
		writeError(w, toError(err, h.now()))
		return
	case !ok:
		writeError(w, notFound("session_not_found", "there is no session %q", id))
		return
	}
	out := SessionDetail{SessionInfo: sessionInfo(s), Unfinished: agent.Unfinished(messages), Transcript: make([]TranscriptRow, 0, len(messages))}
	for _, m := range messages {
		out.Transcript = append(out.Transcript, TranscriptRow{
			ID: m.ID, Role: m.Role, Content: m.Content, ToolName: m.ToolName,
			ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls, At: m.Timestamp, Summary: m.CompressedSummary,
		})
	}
	writeJSON(w, http.StatusOK, out)
}

func sessionInfo(s store.Session) SessionInfo {
	info := SessionInfo{
		ID: s.ID, Source: s.Source, Title: s.Title, Preview: s.Preview, Model: s.Model, StartedAt: s.StartedAt, LastActivityAt: s.LastActivityAt,
		Messages: s.MessageCount, InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens,
	}
	if !s.EndedAt.IsZero() {
		info.EndedAt = &s.EndedAt
	}
	return info
}
