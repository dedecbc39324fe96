package localapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxResponse bounds an answer that is not a stream, in bytes.
const maxResponse = 64 << 20

// CodeUnreachable is the Code of an Error that says that nothing answers at the socket; its Status is 0.
const CodeUnreachable = "gateway_unreachable"

// Client talks to the API socket of a gateway. Its methods are safe for concurrent use. Every error of a request
// that could be sent is an *Error, unless the caller's context ended it.
type Client struct {
	socket  string
	gateway string
	http    *http.Client
	// Patience is how long a request waits for the successor of a gateway that stops; 0 does not wait.
	Patience time.Duration
}

// NewClient makes a client of the API at a socket. gateway is the Gateway's name for messages; "" when unknown.
func NewClient(socket, gateway string) *Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DisableCompression: true,
	}
	return &Client{socket: socket, gateway: gateway, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Models lists the profiles that the gateway has open, sorted.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := c.call(ctx, "", http.MethodGet, "/v1/models", nil, &list); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Data))
	for i, m := range list.Data {
		names[i] = m.ID
	}
	return names, nil
}

// Complete runs one turn and returns its reply whole. Nobody can be asked for approval.
func (c *Client) Complete(ctx context.Context, r CompletionRequest) (Completion, error) {
	r.Stream = false
	var out Completion
	err := c.call(ctx, r.Model, http.MethodPost, "/v1/chat/completions", r, &out)
	return out, err
}

// Interrupt stops the running turn of a session and reports whether there was one. What was stored stays.
func (c *Client) Interrupt(ctx context.Context, profile, session string) (bool, error) {
	var out struct {
		Interrupted bool `json:"interrupted"`
	}
	err := c.call(ctx, profile, http.MethodPost, sessionPath(profile, session)+"/interrupt", nil, &out)
	return out.Interrupted, err
}

// Decide answers an approval event: decision is once, session, always or deny.
func (c *Client) Decide(ctx context.Context, profile, session, call, decision string) error {
	path := sessionPath(profile, session) + "/approvals/" + url.PathEscape(call)
	return c.call(ctx, profile, http.MethodPost, path, Decision{Decision: decision}, nil)
}

func profilePath(profile string) string { return "/v1/profiles/" + url.PathEscape(profile) }

func sessionsPath(profile string) string { return profilePath(profile) + "/sessions" }

func sessionPath(profile, id string) string { return sessionsPath(profile) + "/" + url.PathEscape(id) }

// call sends one request and reads its answer into out; nil in sends no body.
func (c *Client) call(ctx context.Context, profile, method, path string, in, out any) error {
	resp, err := c.send(ctx, profile, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return c.broken(ctx, profile, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.broken(ctx, profile, fmt.Errorf("its answer is not JSON: %w", err))
	}
	return nil
}

// send returns an answer of status 200, or the error the answer holds. It has [Client.Patience].
func (c *Client) send(ctx context.Context, profile, method, path string, in any) (resp *http.Response, err error) {
	err = c.patiently(ctx, func() error {
		resp, err = c.sendOnce(ctx, profile, method, path, in)
		return err
	})
	return resp, err
}

func (c *Client) sendOnce(ctx context.Context, profile, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, profile, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, errorOf(resp)
	}
	return resp, nil
}

// errorOf reads the error an answer holds.
func errorOf(resp *http.Response) *Error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what could be read is all there is to tell
	var body ErrorBody
	if json.Unmarshal(raw, &body) != nil || body.Error.Message == "" {
		return &Error{Status: resp.StatusCode, Type: "server_error", Code: "failed", Message: "the gateway answered " + resp.Status}
	}
	body.Error.Status = resp.StatusCode
	return &body.Error
}

// broken words a failure of the connection. The caller's own context ending is no failure of the gateway.
func (c *Client) broken(ctx context.Context, profile string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	whose := "the gateway"
	if profile != "" {
		whose += " of profile " + profile
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	e := &Error{Type: "server_error", Code: CodeUnreachable, Err: err}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		e.Message = fmt.Sprintf("%s does not answer at %s: %s", whose, c.socket, c.see())
		return e
	}
	e.Message = fmt.Sprintf("the connection to %s broke off (%v): %s", whose, err, c.see())
	return e
}

func (c *Client) see() string {
	if c.gateway == "" {
		return "see hermes status"
	}
	return "see hermes status gateway/" + c.gateway
}
