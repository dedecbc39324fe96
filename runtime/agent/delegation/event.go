package delegation

import (
	"time"
)

// EventType is the type of a completion event.
const EventType = "async_delegation"

// roleLeaf is the role of every child: it delegates nothing itself.
const roleLeaf = "leaf"

// Routing is whose turn delegated, so that a completion finds its tenant after a restart.
//
// Implements S-203.
type Routing struct {
	ScopeID  string `json:"scope_id,omitempty"`
	UserID   string `json:"user_id,omitempty"`
	UserName string `json:"user_name,omitempty"`
}

// Dispatch is a delegation as it was asked for: a row's task_json.
type Dispatch struct {
	Tasks []Task `json:"tasks"`
	// Sessions are the children's, in the order of the tasks.
	Sessions []string `json:"sessions,omitempty"`
	Model    string   `json:"model,omitempty"`
	Routing
}

// Row is what an event needs of the stored row.
type Row struct {
	ID, SessionKey                                      string
	OriginUISessionID, OriginSessionID, ParentSessionID string
	DispatchedAt                                        time.Time
	// CompletedAt is zero when nobody knows.
	CompletedAt time.Time
}

// Event is a completion. Its JSON is a row's event_json. Times are in seconds since the epoch.
//
// Implements S-204.
type Event struct {
	Type              string   `json:"type"`
	DelegationID      string   `json:"delegation_id"`
	SessionKey        string   `json:"session_key"`
	OriginUISessionID string   `json:"origin_ui_session_id"`
	OriginSessionID   string   `json:"origin_session_id"`
	ParentSessionID   string   `json:"parent_session_id"`
	Goal              string   `json:"goal"`
	Goals             []string `json:"goals"`
	Context           string   `json:"context"`
	Toolsets          []string `json:"toolsets"`
	Role              string   `json:"role"`
	Model             string   `json:"model"`
	IsBatch           bool     `json:"is_batch"`
	Status            string   `json:"status"`
	Summary           string   `json:"summary"`
	Error             string   `json:"error"`
	Results           []Result `json:"results"`
	APICalls          int      `json:"api_calls"`
	DurationSeconds   float64  `json:"duration_seconds"`
	DispatchedAt      float64  `json:"dispatched_at"`
	CompletedAt       float64  `json:"completed_at,omitempty"`
	ExitReason        string   `json:"exit_reason"`
	Routing

	// Restored says that the event was read back from the store by another life of the gateway. It is never stored:
	// only memory knows what came from where.
	Restored bool `json:"-"`
}

// Complete makes the event of a delegation. A live single, a live batch and the one rebuilt after a crash are made
// here, so that all of them carry the same.
//
// Implements S-203 and S-204.
func Complete(row Row, d Dispatch, results []Result) Event {
	e := Event{
		Type: EventType, DelegationID: row.ID, SessionKey: row.SessionKey, OriginUISessionID: row.OriginUISessionID,
		OriginSessionID: row.OriginSessionID, ParentSessionID: row.ParentSessionID, Role: roleLeaf, Model: d.Model,
		IsBatch: len(d.Tasks) > 1, Status: StatusOf(results), Results: results, Goals: []string{}, Toolsets: []string{},
		DispatchedAt: seconds(row.DispatchedAt), CompletedAt: seconds(row.CompletedAt), Routing: d.Routing,
	}
	for _, t := range d.Tasks {
		e.Goals = append(e.Goals, cut(t.Goal, maxError))
	}
	if len(d.Tasks) > 0 {
		e.Goal, e.Context = e.Goals[0], cut(d.Tasks[0].Context, maxError)
		e.Toolsets = append(e.Toolsets, d.Tasks[0].Toolsets...)
	}
	for _, r := range results {
		e.APICalls += r.APICalls
		e.DurationSeconds = max(e.DurationSeconds, r.DurationSeconds)
		if r.Status == e.Status && e.ExitReason == "" {
			e.ExitReason, e.Error = r.ExitReason, r.Error
		}
	}
	if !e.IsBatch && len(results) == 1 {
		e.Summary = results[0].Summary
	}
	return e
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// Owns says whether a session that would be told may be: an event that was restored goes only to the session that
// delegated, to one that continues it, or to one of the same chat. A live event is its consumer's own.
//
// Implements S-212.
func (e Event) Owns(target, targetKey string, continues bool) bool {
	return !e.Restored || target == e.ParentSessionID || continues || e.SessionKey != "" && targetKey == e.SessionKey
}
