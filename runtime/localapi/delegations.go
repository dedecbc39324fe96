package localapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/agent/delegation"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Delegating is what a profile tells about work that its agent handed to child sessions. A Profile may implement it.
type Delegating interface {
	// Delegations lists what was not waited for, the newest first; of one session, or with "" of all.
	Delegations(ctx context.Context, session string) ([]store.Delegation, error)
	// Follow has events told about the turns that the runtime itself begins in a session.
	Follow(sessionID string, events agent.Events) (stop func())
	// Closing is closed when the profile closes: nothing is told after that.
	Closing() <-chan struct{}
}

var _ Delegating = (*profile.Runtime)(nil)

// DelegationInfo is work that runs, or ran, apart from the session that asked for it.
type DelegationInfo struct {
	ID string `json:"id"`
	// Parent is the session that delegated, Children the sessions of those who do the work.
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Goals    []string `json:"goals"`
	// State: running, stalling, finalizing, completed, error, interrupted, unknown.
	State string `json:"state"`
	// Delivery: pending until the parent has been told, then delivered; or dropped.
	Delivery     string     `json:"delivery"`
	Attempts     int64      `json:"attempts"`
	DispatchedAt time.Time  `json:"dispatched_at"`
	CompletedAt  *time.Time `json:"completed_at,omitempty"`
	DeliveredAt  *time.Time `json:"delivered_at,omitempty"`
	// Results of the children that have ended.
	Results []delegation.Result `json:"results"`
}

// DelegationList is what was delegated, the newest first.
type DelegationList struct {
	Data []DelegationInfo `json:"data"`
}

// handleDelegating adds it.
func (h *handler) handleDelegating(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/profiles/{profile}/delegations", h.withProfile(h.listDelegations))
	mux.HandleFunc("GET /v1/profiles/{profile}/sessions/{session}/follow", h.withProfile(h.follow))
}

func (h *handler) listDelegations(w http.ResponseWriter, r *http.Request, p Profile) {
	list, err := delegationsOf(r.Context(), p, r.URL.Query().Get("session"))
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Object string `json:"object"`
		DelegationList
	}{Object: "list", DelegationList: DelegationList{Data: list}})
}

// delegationsOf lists those of a session, or of all with ""; none for a profile that does not delegate.
func delegationsOf(ctx context.Context, p Profile, session string) ([]DelegationInfo, error) {
	out := []DelegationInfo{}
	d, ok := p.(Delegating)
	if !ok {
		return out, nil
	}
	rows, err := d.Delegations(ctx, session)
	for _, row := range rows {
		out = append(out, delegationInfo(row))
	}
	return out, err
}

func delegationInfo(row store.Delegation) DelegationInfo {
	var asked delegation.Dispatch
	var so delegation.Recorded
	_ = json.Unmarshal(row.Task, &asked) // another program's row shows what can be read of it
	_ = json.Unmarshal(row.Result, &so)
	info := DelegationInfo{
		ID: row.ID, Parent: row.ParentSessionID, Children: asked.Sessions, Goals: []string{}, State: row.State, Delivery: row.DeliveryState,
		Attempts: row.Attempts, DispatchedAt: row.DispatchedAt, Results: so.Results,
	}
	for _, t := range asked.Tasks {
		info.Goals = append(info.Goals, t.Goal)
	}
	if info.Children == nil {
		info.Children = []string{}
	}
	if info.Results == nil {
		info.Results = []delegation.Result{}
	}
	if !row.CompletedAt.IsZero() {
		info.CompletedAt = &row.CompletedAt
	}
	if !row.DeliveredAt.IsZero() {
		info.DeliveredAt = &row.DeliveredAt
	}
	return info
}

// maxFollowed bounds how far a follower may fall behind, in events; then it is cut off, for a turn waits for nobody.
const maxFollowed = 4096

// follow streams the turns that nobody began by a request, in the form of a streamed completion each, until the client
// goes away.
func (h *handler) follow(w http.ResponseWriter, r *http.Request, p Profile) {
	d, ok := p.(Delegating)
	if !ok {
		writeError(w, notFound("unknown_path", "this profile begins no turns by itself"))
		return
	}
	session := r.PathValue("session")
	s := &stream{
		w: w, control: http.NewResponseController(w), events: true, session: session, name: r.PathValue("profile"), id: completionID(session), created: h.now().Unix(),
	}
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }()
	events := make(chan agent.Event, maxFollowed)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := d.Follow(session, func(e agent.Event) {
		select {
		case events <- e:
		default:
			cancel()
		}
	})
	defer stop()
	s.write(": following\n\n") // the head, so that the client knows that nothing will be missed from here on
	alive := s.keepAlive(h.clock)
	defer alive()
	for {
		select {
		case e := <-events:
			s.followed(e)
		case <-d.Closing():
			return
		case <-ctx.Done():
			return
		}
	}
}

// followed sends one event of a turn that somebody watches.
func (s *stream) followed(e agent.Event) {
	switch e.Kind {
	case agent.EventDone:
		reason := finishReason(*e.Result)
		s.chunk(Choice{Delta: &Reply{}, FinishReason: &reason}, nil)
		s.event(Event{Type: "done", Session: e.SessionID, Info: infoOf(*e.Result), Usage: usageOf(*e.Result)})
		s.said = progress{}
	case agent.EventError:
		s.event(Event{Type: "error", Session: e.SessionID, Summary: e.Err.Error()})
		s.said = progress{}
	default:
		s.turnEvent(e)
	}
}

// Delegations lists what the agent of a profile delegated; session "" lists all.
func (c *Client) Delegations(ctx context.Context, profile, session string) ([]DelegationInfo, error) {
	var list DelegationList
	path := profilePath(profile) + "/delegations"
	if session != "" {
		path += "?session=" + url.QueryEscape(session)
	}
	err := c.call(ctx, profile, http.MethodGet, path, nil, &list)
	return list.Data, err
}

// Follow hands out the turns that a session's gateway begins in it without being asked, such as the one that the end of
// a delegation brings, until ctx ends or the connection breaks. following is called once nothing will be missed any
// more; nil for nobody.
func (c *Client) Follow(ctx context.Context, profile, session string, following func(), handle func(StreamItem)) error {
	resp, err := c.send(ctx, profile, http.MethodGet, sessionPath(profile, session)+"/follow", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if following != nil {
		following()
	}
	err = (&streamReader{handle: handle}).read(resp.Body)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
