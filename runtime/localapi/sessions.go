package localapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Stored is what the API asks of a profile's stored sessions.
type Stored interface {
	// Sessions lists stored sessions, newest activity first.
	Sessions(ctx context.Context, o store.ListOptions) ([]store.Session, error)
	// Session returns one session and its transcript.
	Session(ctx context.Context, id string) (store.Session, []store.Message, bool, error)
	// ResolveSession gives the id that a reference means: an id, a title, or the beginning of an id.
	ResolveSession(ctx context.Context, ref string) (string, error)
	// Search finds messages.
	Search(ctx context.Context, o store.SearchOptions) (store.SearchResult, error)
	// RenameSession gives a session a title and returns it as stored.
	RenameSession(ctx context.Context, id, title string) (string, error)
	// DeleteSession deletes a conversation; force stops a turn that runs in it.
	DeleteSession(ctx context.Context, id string, force bool) (store.Pruned, error)
	// ExportSession writes one session.
	ExportSession(ctx context.Context, w io.Writer, id string, format store.ExportFormat) error
	// OptimizeStore, OptimizeStorage and PruneSessions maintain the store.
	OptimizeStore(ctx context.Context, m profile.Maintenance) (profile.Maintained, error)
	OptimizeStorage(ctx context.Context, m profile.Maintenance) (profile.Maintained, error)
	PruneSessions(ctx context.Context, o store.PruneOptions, force bool) (store.Pruned, profile.Maintained, error)
}

// handleStored adds what is about stored sessions.
func (h *handler) handleStored(mux *http.ServeMux) {
	const base = "/v1/profiles/{profile}"
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, Profile) error{
		"GET " + base + "/sessions":                  h.listSessions,
		"GET " + base + "/sessions/{session}":        h.getSession,
		"PATCH " + base + "/sessions/{session}":      h.renameSession,
		"DELETE " + base + "/sessions/{session}":     h.deleteSession,
		"GET " + base + "/sessions/{session}/export": h.exportSession,
		"GET " + base + "/search":                    h.search,
		"POST " + base + "/store/{action}":           h.maintain,
	} {
		mux.HandleFunc(pattern, h.withProfile(func(w http.ResponseWriter, r *http.Request, p Profile) {
			if err := serve(w, r, p); err != nil {
				writeError(w, h.storedError(err, r))
			}
		}))
	}
}

func (h *handler) listSessions(w http.ResponseWriter, r *http.Request, p Profile) error {
	ask := query{values: r.URL.Query()}
	o := store.ListOptions{
		Source: ask.text("source"), Limit: ask.number("limit", 1, 1000), Since: ask.time("since"),
		Archived: ask.flag("archived"), Hidden: ask.flag("hidden"),
	}
	o.Before, o.BeforeID = ask.page("page")
	if ask.err != nil {
		return ask.err
	}
	list, err := p.Sessions(r.Context(), o)
	if err != nil {
		return err
	}
	out := struct {
		Object string `json:"object"`
		SessionList
	}{Object: "list", SessionList: SessionList{Data: make([]SessionInfo, 0, len(list))}}
	for _, s := range list {
		out.Data = append(out.Data, sessionInfo(s))
	}
	if limit := o.Limit; len(list) > 0 && (len(list) == limit || limit == 0 && len(list) == store.DefaultListLimit) {
		out.Next = pageAfter(list[len(list)-1])
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// getSession takes a reference of any kind, so that people need not type whole ids.
func (h *handler) getSession(w http.ResponseWriter, r *http.Request, p Profile) error {
	ref, ask := r.PathValue("session"), query{values: r.URL.Query()}
	brief := ask.text("transcript") == "false"
	s, messages, ok, err := p.Session(r.Context(), ref)
	if err == nil && !ok {
		var id string
		if id, err = p.ResolveSession(r.Context(), ref); err == nil {
			s, messages, ok, err = p.Session(r.Context(), id)
		}
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return store.ErrNoSession
	}
	out := SessionDetail{SessionInfo: sessionInfo(s), Unfinished: agent.Unfinished(messages), Transcript: []TranscriptRow{}}
	if !brief {
		if out.Delegations, err = delegationsOf(r.Context(), p, s.ID); err != nil {
			return err
		}
	}
	for _, m := range messages {
		if brief {
			break
		}
		out.Transcript = append(out.Transcript, TranscriptRow{
			ID: m.ID, Role: m.Role, Content: m.Content, ToolName: m.ToolName,
			ToolCallID: m.ToolCallID, ToolCalls: m.ToolCalls, At: m.Timestamp, Summary: m.CompressedSummary, Display: m.DisplayKind,
		})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (h *handler) renameSession(w http.ResponseWriter, r *http.Request, p Profile) error {
	var body Rename
	if e := decode(w, r, &body); e != nil {
		return e
	}
	if body.Title == nil {
		return badRequest("title must be given; an empty one takes the title away")
	}
	id := r.PathValue("session")
	title, err := p.RenameSession(r.Context(), id, *body.Title)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, Rename{Title: &title})
	return nil
}

func (h *handler) deleteSession(w http.ResponseWriter, r *http.Request, p Profile) error {
	ask := query{values: r.URL.Query()}
	force := ask.flag("force")
	if ask.err != nil {
		return ask.err
	}
	gone, err := p.DeleteSession(r.Context(), r.PathValue("session"), force)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, Deleted{Sessions: gone.Sessions, Messages: gone.Messages})
	return nil
}

// exportSession streams. An error after the first byte cuts the connection: a client must not take a part for the
// whole.
func (h *handler) exportSession(w http.ResponseWriter, r *http.Request, p Profile) error {
	format := store.ExportFormat(r.URL.Query().Get("format"))
	kind := "application/jsonl"
	switch format {
	case "":
		format = store.ExportJSONL
	case store.ExportJSONL:
	case store.ExportMarkdown:
		kind = "text/markdown; charset=utf-8"
	default:
		return badRequest("format must be %s or %s", store.ExportJSONL, store.ExportMarkdown)
	}
	out := &lateHeader{w: w, kind: kind}
	err := p.ExportSession(r.Context(), out, r.PathValue("session"), format)
	if err != nil && out.begun {
		h.log.Error(err, "export a session", "session", r.PathValue("session"))
		panic(http.ErrAbortHandler)
	}
	return err
}

// lateHeader sends the header with the first byte, so that an error before it can still be told.
type lateHeader struct {
	w     http.ResponseWriter
	kind  string
	begun bool
}

func (l *lateHeader) Write(p []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", l.kind)
	}
	return l.w.Write(p)
}

func (h *handler) search(w http.ResponseWriter, r *http.Request, p Profile) error {
	ask := query{values: r.URL.Query()}
	o := store.SearchOptions{
		Query: ask.text("q"), Limit: ask.number("limit", 1, store.MaxSearchLimit), SessionID: ask.text("session"),
		Role: ask.text("role"), Source: ask.text("source"), Since: ask.time("since"), Until: ask.time("until"),
		Hidden: ask.flag("hidden"), Substring: ask.flag("substring"),
	}
	if ask.err != nil {
		return ask.err
	}
	found, err := p.Search(r.Context(), o)
	if err != nil {
		return err
	}
	out := struct {
		Object string `json:"object"`
		SearchList
	}{Object: "list", SearchList: SearchList{Data: make([]SearchHit, 0, len(found.Hits)), Unindexed: found.Unindexed, Bounded: found.Bounded}}
	for _, hit := range found.Hits {
		out.Data = append(out.Data, SearchHit{
			Session: hit.SessionID, Title: hit.Title, Source: hit.Source, Message: hit.MessageID, Role: hit.Role,
			ToolName: hit.ToolName, At: hit.At, Snippet: hit.Snippet,
		})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func sessionInfo(s store.Session) SessionInfo {
	info := SessionInfo{
		ID: s.ID, Source: s.Source, Title: s.Title, TitleSource: s.TitleSource, Parent: s.ParentID, EndReason: s.EndReason,
		Preview: s.Preview, Model: s.Model, StartedAt: s.StartedAt, LastActivityAt: s.LastActivityAt,
		Messages: s.MessageCount, InputTokens: s.Usage.InputTokens, OutputTokens: s.Usage.OutputTokens,
	}
	if !s.EndedAt.IsZero() {
		info.EndedAt = &s.EndedAt
	}
	return info
}

// query reads the parameters of a request and keeps the first error.
type query struct {
	values url.Values
	err    error
}

func (q *query) text(name string) string { return q.values.Get(name) }

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = badRequest(format, args...)
	}
}

// number is 0 when the parameter is absent.
func (q *query) number(name string, low, high int) int {
	raw := q.values.Get(name)
	if raw == "" {
		return 0
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < low || n > high {
		q.fail("%s must be a number from %d to %d", name, low, high)
	}
	return n
}

func (q *query) flag(name string) bool {
	raw := q.values.Get(name)
	if raw == "" {
		return false
	}
	on, err := strconv.ParseBool(raw)
	if err != nil {
		q.fail("%s must be true or false", name)
	}
	return on
}

// time is the zero time when the parameter is absent.
func (q *query) time(name string) time.Time {
	raw := q.values.Get(name)
	if raw == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, raw)
	if err != nil {
		q.fail("%s must be a time such as 2026-11-29T12:00:00Z", name)
	}
	return at
}

// page reads what pageAfter wrote.
func (q *query) page(name string) (before time.Time, id string) {
	raw := q.values.Get(name)
	if raw == "" {
		return time.Time{}, ""
	}
	stamp, id, ok := strings.Cut(raw, "~")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if !ok || err != nil {
		q.fail("%s must be the next of a list before", name)
	}
	return at, id
}

// pageAfter names the page after a session.
func pageAfter(s store.Session) string { return s.LastActivityAt.Format(time.RFC3339Nano) + "~" + s.ID }
