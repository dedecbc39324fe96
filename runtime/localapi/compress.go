package localapi

import (
	"context"
	"net/http"

	"hermes.dev/hermes/runtime/agent"
)

// CompressRequest is the body of POST …/compress.
type CompressRequest struct {
	// Focus is what is to be kept in particular, in the person's words; empty for nothing.
	Focus string `json:"focus,omitempty"`
}

// Compacted is what a compaction did: the answer to POST …/compress, and part of the event "compacted".
type Compacted struct {
	// Done is false when there was nothing to make smaller.
	Done bool `json:"done"`
	// TokensBefore and TokensAfter estimate the conversation, in tokens; RowsBefore and RowsAfter count its messages.
	TokensBefore int64 `json:"tokens_before"`
	TokensAfter  int64 `json:"tokens_after"`
	RowsBefore   int   `json:"rows_before"`
	RowsAfter    int   `json:"rows_after"`
	// Fallback says that no model wrote the summary, and Failure why.
	Fallback bool   `json:"fallback,omitempty"`
	Failure  string `json:"failure,omitempty"`
}

func compactedOf(c agent.Compacted) *Compacted { return (*Compacted)(&c) }

// compress compacts a session because a person asked for it. The answer comes when it is done.
func (h *handler) compress(w http.ResponseWriter, r *http.Request, p Profile) {
	var body CompressRequest
	if r.ContentLength != 0 { // nothing to keep in particular needs no body
		if err := decode(w, r, &body); err != nil {
			writeError(w, err)
			return
		}
	}
	id := r.PathValue("session")
	switch _, _, found, err := p.Session(r.Context(), id); {
	case err != nil:
		writeError(w, toError(err, h.now()))
		return
	case !found:
		writeError(w, notFound("session_not_found", "there is no session %q", id))
		return
	}
	done, err := p.Compress(r.Context(), id, body.Focus)
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	writeJSON(w, http.StatusOK, compactedOf(done))
}

// Compress compacts a session now; focus is what is to be kept in particular. It returns when that is done, which takes a
// model call.
func (c *Client) Compress(ctx context.Context, profile, session, focus string) (Compacted, error) {
	var out Compacted
	err := c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/compress", CompressRequest{Focus: focus}, &out)
	return out, err
}
