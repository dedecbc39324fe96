package localapi

import (
	"context"
	"net/http"
)

// Steer says something to the running turn of a session. It is false when no turn takes it: say it as a turn then.
func (c *Client) Steer(ctx context.Context, profile, session, text string) (bool, error) {
	var out Steered
	err := c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/steer", Steer{Text: text}, &out)
	return out.Accepted, err
}

// Undo takes back what was said last in a session, with everything after it.
func (c *Client) Undo(ctx context.Context, profile, session string) (Undone, error) {
	var out Undone
	err := c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/undo", nil, &out)
	return out, err
}

// BeginSession makes a session in the place of another, which ends.
func (c *Client) BeginSession(ctx context.Context, profile string, b BeginSession) (SessionInfo, error) {
	var out SessionInfo
	err := c.call(ctx, profile, http.MethodPost, sessionsPath(profile), b, &out)
	return out, err
}

// Usage returns what a session consumed.
func (c *Client) Usage(ctx context.Context, profile, session string) (SessionUsage, error) {
	var out SessionUsage
	err := c.call(ctx, profile, http.MethodGet, sessionPath(profile, session)+"/usage", nil, &out)
	return out, err
}
