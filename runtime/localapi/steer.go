package localapi

import (
	"context"
	"net/http"
	"strings"
)

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

func (h *handler) steer(w http.ResponseWriter, r *http.Request, p Profile) {
	var body Steer
	if err := decode(w, r, &body); err != nil {
		writeError(w, err)
		return
	}
	if strings.TrimSpace(body.Text) == "" {
		writeError(w, badRequest("text is empty: it must be what the person says to the running turn"))
		return
	}
	ok, err := p.Steer(r.Context(), r.PathValue("session"), body.Text)
	if err != nil {
		writeError(w, toError(err, h.now()))
		return
	}
	writeJSON(w, http.StatusOK, Steered{Accepted: ok})
}

// Steer says something to the running turn of a session. It is false when no turn takes it: say it as a turn then.
func (c *Client) Steer(ctx context.Context, profile, session, text string) (bool, error) {
	var out Steered
	err := c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/steer", Steer{Text: text}, &out)
	return out.Accepted, err
}
