package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// ProfileHandler is a [Handler] of a gateway whose profiles are served and unserved one at a time.
type ProfileHandler interface {
	Handler
	// Serve opens a profile now. ctx ends with the server.
	Serve(ctx context.Context, profile string) error
	// Unserve closes a profile now.
	Unserve(ctx context.Context, profile string) error
}

func (v Verb) aboutProfile() bool { return v == VerbServeProfile || v == VerbUnserveProfile }

// supported lists the verbs of this server's handler, sorted.
func (s *Server) supported() []Verb {
	verbs := SupportedVerbs()
	if _, ok := s.cfg.Handler.(ProfileHandler); ok {
		verbs = append(verbs, VerbServeProfile, VerbUnserveProfile)
		slices.Sort(verbs)
	}
	return verbs
}

type profileResult struct {
	Served   string `json:"served,omitempty"`
	Unserved string `json:"unserved,omitempty"`
}

// changeProfile answers serve-profile and unserve-profile. Implements the last part of G-247.
func changeProfile(ctx context.Context, h ProfileHandler, verb Verb, id json.RawMessage, line []byte) response {
	fields, _ := parseObject(line)
	profile := fields.text("profile")
	if profile == "" {
		return failure(id, `request names no profile: set "profile" to a string`)
	}
	result, change := profileResult{Served: profile}, h.Serve
	if verb == VerbUnserveProfile {
		result, change = profileResult{Unserved: profile}, h.Unserve
	}
	if err := change(ctx, profile); err != nil {
		return failure(id, err.Error())
	}
	return response{OK: true, Protocol: ControlProtocol, Result: result, ID: id}
}

// ServeProfile asks the gateway to serve a profile now; nil means that it does.
func (c *Client) ServeProfile(ctx context.Context, profile string) error {
	return c.change(ctx, VerbServeProfile, profile, profileResult{Served: profile})
}

// UnserveProfile asks the gateway to close a profile now; nil means that it did.
func (c *Client) UnserveProfile(ctx context.Context, profile string) error {
	return c.change(ctx, VerbUnserveProfile, profile, profileResult{Unserved: profile})
}

func (c *Client) change(ctx context.Context, verb Verb, profile string, want profileResult) error {
	timeout := c.RescanTimeout
	if timeout <= 0 {
		timeout = RescanTimeout
	}
	got, err := askAbout[profileResult](ctx, c, verb, profile, timeout)
	if err == nil && got != want {
		err = c.noAnswer(verb, errors.New("it does not confirm the change"))
	}
	return err
}
