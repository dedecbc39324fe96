package localapi

import (
	"context"
	"net/http"
	"net/url"

	"hermes.dev/hermes/runtime/tools"
)

// ToolKeeper is what the API needs of a profile's tools.
type ToolKeeper interface {
	// Tools tells what the agent may use, what not, and why.
	Tools() (tools.Overview, error)
	// RevokeApproval takes back a decision given for always, every one with "all", and reports whether there was one.
	RevokeApproval(id string) (bool, error)
	// Processes lists what the agent has started in the background.
	Processes() []tools.ProcessInfo
}

func (h *handler) routeTools(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/profiles/{profile}/tools", h.withProfile(h.tools))
	mux.HandleFunc("DELETE /v1/profiles/{profile}/tools/approvals/{id}", h.withProfile(h.revoke))
	mux.HandleFunc("GET /v1/profiles/{profile}/processes", h.withProfile(h.processes))
}

func (h *handler) tools(w http.ResponseWriter, _ *http.Request, p Profile) {
	o, err := p.Tools()
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	writeJSON(w, http.StatusOK, o)
}

func (h *handler) revoke(w http.ResponseWriter, r *http.Request, p Profile) {
	id := r.PathValue("id")
	ok, err := p.RevokeApproval(id)
	switch {
	case err != nil:
		writeError(w, toError(err, h.now()))
	case !ok:
		writeError(w, notFound("no_such_approval", "there is no decision for always with id %q", id))
	default:
		writeJSON(w, http.StatusOK, map[string]bool{"revoked": true})
	}
}

func (h *handler) processes(w http.ResponseWriter, _ *http.Request, p Profile) {
	writeJSON(w, http.StatusOK, map[string]any{"data": p.Processes()})
}

// Tools tells what a profile's agent may use, what not, and why.
func (c *Client) Tools(ctx context.Context, profile string) (tools.Overview, error) {
	var out tools.Overview
	err := c.call(ctx, profile, http.MethodGet, profilePath(profile)+"/tools", nil, &out)
	return out, err
}

// RevokeApproval takes back a decision given for always, or every one with "all".
func (c *Client) RevokeApproval(ctx context.Context, profile, id string) error {
	return c.call(ctx, profile, http.MethodDelete, profilePath(profile)+"/tools/approvals/"+url.PathEscape(id), nil, nil)
}

// Processes lists what a profile's agent has started in the background.
func (c *Client) Processes(ctx context.Context, profile string) ([]tools.ProcessInfo, error) {
	var out struct {
		Data []tools.ProcessInfo `json:"data"`
	}
	err := c.call(ctx, profile, http.MethodGet, profilePath(profile)+"/processes", nil, &out)
	return out.Data, err
}

// Answer answers a question event of the agent: decision answer with the text, deny, or nobody.
func (c *Client) Answer(ctx context.Context, profile, session, call string, d Decision) error {
	return c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/approvals/"+url.PathEscape(call), d, nil)
}
