package localapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/session"
	"hermes.dev/hermes/runtime/store"
)

// Conversing is what people do with a conversation besides saying something.
type Conversing interface {
	// Steer says something to the running turn of a session; false when no turn takes it.
	Steer(ctx context.Context, sessionID, text string) (bool, error)
	// Undo takes back what was said last and everything after it.
	Undo(ctx context.Context, sessionID string) (agent.Undone, error)
	// BeginSession makes a session in the place of one that ends.
	BeginSession(ctx context.Context, b profile.Begin) (store.Session, error)
	// Usage is what a session consumed.
	Usage(ctx context.Context, sessionID string) (store.Session, []store.ModelUsage, error)
}

// handleConversing adds it.
func (h *handler) handleConversing(mux *http.ServeMux) {
	const sessions = "/v1/profiles/{profile}/sessions"
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request, Profile) error{
		"POST " + sessions:                      h.beginSession,
		"POST " + sessions + "/{session}/steer": h.steer,
		"POST " + sessions + "/{session}/undo":  h.undo,
		"GET " + sessions + "/{session}/usage":  h.usage,
	} {
		mux.HandleFunc(pattern, h.withProfile(func(w http.ResponseWriter, r *http.Request, p Profile) {
			err := serve(w, r, p)
			switch {
			case errors.Is(err, store.ErrNoSession):
				writeError(w, notFound("session_not_found", "%v", err))
			case err != nil:
				writeError(w, toError(err, h.now()))
			}
		}))
	}
}

// Steer is the body of a message to a running turn.
type Steer struct {
	// Text is what the person says.
	Text string `json:"text"`
}

// Steered answers it.
type Steered struct {
	// Accepted says that the message is stored and will be in the turn, or come back in its pending_steer. False: no
	// turn of the session takes it; say it as a turn of its own.
	Accepted bool `json:"accepted"`
}

func (h *handler) steer(w http.ResponseWriter, r *http.Request, p Profile) error {
	var body Steer
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Text) == "" {
		return badRequest("text is empty: it must be what the person says to the running turn")
	}
	ok, err := p.Steer(r.Context(), r.PathValue("session"), body.Text)
	if err == nil {
		writeJSON(w, http.StatusOK, Steered{Accepted: ok})
	}
	return err
}

// Undone answers an undo.
type Undone struct {
	// Text is what the person had said.
	Text string `json:"text"`
	// Rows is how many rows left the conversation; they stay in the store.
	Rows int64 `json:"rows"`
}

func (h *handler) undo(w http.ResponseWriter, r *http.Request, p Profile) error {
	undone, err := p.Undo(r.Context(), r.PathValue("session"))
	if err == nil {
		writeJSON(w, http.StatusOK, Undone(undone))
	}
	return err
}

// BeginSession is the body of a request for a session in the place of another.
type BeginSession struct {
	// From is the session that ends; the new one is its child.
	From string `json:"from"`
	// Reason is why it ends: new_session (the default), session_reset, session_switch, idle, daily, suspended or
	// resume_pending_expired.
	Reason string `json:"reason,omitempty"`
}

func (h *handler) beginSession(w http.ResponseWriter, r *http.Request, p Profile) error {
	var body BeginSession
	if err := decode(w, r, &body); err != nil {
		return err
	}
	if body.From == "" {
		return badRequest("from is missing: name the session that ends; one that follows no other begins with its first message")
	}
	made, err := p.BeginSession(r.Context(), profile.Begin{From: body.From, Reason: session.EndReason(body.Reason)})
	if err == nil {
		writeJSON(w, http.StatusOK, sessionInfo(made))
	}
	return err
}

// SessionUsage is what a session consumed.
type SessionUsage struct {
	Session string `json:"session"`
	// Total is the sum of Parts.
	Total UsagePart `json:"total"`
	// Parts by model, provider and task.
	Parts []UsagePart `json:"parts"`
}

// UsagePart is the consumption of one model for one task, in tokens and calls.
type UsagePart struct {
	Model    string `json:"model,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Task is what the calls were for, such as title; "" is the conversation itself.
	Task             string `json:"task,omitempty"`
	Calls            int64  `json:"calls"`
	InputTokens      int64  `json:"input_tokens"`
	OutputTokens     int64  `json:"output_tokens"`
	CacheReadTokens  int64  `json:"cache_read_tokens"`
	CacheWriteTokens int64  `json:"cache_write_tokens"`
	ReasoningTokens  int64  `json:"reasoning_tokens"`
	// CostUSD is the actual cost, or the estimated one; absent when neither is known.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// FirstSeen and LastSeen are when it was called; parts only.
	FirstSeen time.Time `json:"first_seen,omitzero"`
	LastSeen  time.Time `json:"last_seen,omitzero"`
}

func (h *handler) usage(w http.ResponseWriter, r *http.Request, p Profile) error {
	total, parts, err := p.Usage(r.Context(), r.PathValue("session"))
	if err != nil {
		return err
	}
	out := SessionUsage{Session: total.ID, Total: usagePart(total.Usage), Parts: make([]UsagePart, 0, len(parts))}
	out.Total.Provider = "" // the last of several
	for _, m := range parts {
		part := usagePart(m.Usage)
		part.FirstSeen, part.LastSeen = m.FirstSeen, m.LastSeen
		out.Parts = append(out.Parts, part)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func usagePart(u store.Usage) UsagePart {
	part := UsagePart{
		Model: u.Model, Provider: u.BillingProvider, Task: u.Task, Calls: u.APICalls, InputTokens: u.InputTokens,
		OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens,
		ReasoningTokens: u.ReasoningTokens, CostUSD: u.ActualCostUSD,
	}
	if part.CostUSD == nil {
		part.CostUSD = u.EstimatedCostUSD
	}
	return part
}
