package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// ErrNoAnswer is what every failure of a control request is, whatever its cause: no socket, refused, too slow, malformed,
// or not accepted. Callers fall back to the files.
var ErrNoAnswer = errors.New("the gateway did not answer")

// NoAnswerError says why a control request has no answer. It matches [ErrNoAnswer] and its cause.
type NoAnswerError struct {
	Home string
	Verb Verb
	Err  error
}

// Error implements error.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("the gateway of %s did not answer %s: %v", e.Home, e.Verb, e.Err)
}

// Unwrap lets errors.Is see both.
func (e *NoAnswerError) Unwrap() []error { return []error{ErrNoAnswer, e.Err} }

// Client asks the gateway of one home. The zero timeouts mean [RequestTimeout] and [RescanTimeout]. It holds no
// connection and is safe for concurrent use.
type Client struct {
	// Home is the home of the gateway that is asked.
	Home string
	// UID is the user whose socket is trusted.
	UID int
	// Timeout bounds identify, status and drain; RescanTimeout bounds rescan-profiles.
	Timeout, RescanTimeout time.Duration
}

// NewClient returns a client for a home of this process's user with the default timeouts.
func NewClient(home string) *Client { return &Client{Home: home, UID: os.Getuid()} }

// Identify asks who serves the home. An answer that is no gateway's identity is no answer.
// Implements G-244 and G-248.
func (c *Client) Identify(ctx context.Context) (Identity, error) {
	identity, err := ask[Identity](ctx, c, VerbIdentify, c.timeout())
	if err == nil && !identity.WellFormed() {
		return Identity{}, c.noAnswer(VerbIdentify, errors.New("result does not identify a gateway"))
	}
	return identity, err
}

// Status asks for the runtime status record.
// Implements G-245.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask[Status](ctx, c, VerbStatus, c.timeout())
}

// RescanProfiles asks the gateway to reconcile its served set now.
// Implements G-246.
func (c *Client) RescanProfiles(ctx context.Context) (Rescan, error) {
	timeout := c.RescanTimeout
	if timeout <= 0 {
		timeout = RescanTimeout
	}
	return ask[Rescan](ctx, c, VerbRescanProfiles, timeout)
}

// Drain asks the gateway to accept no new work and tells how much still runs.
func (c *Client) Drain(ctx context.Context) (DrainState, error) {
	return ask[DrainState](ctx, c, VerbDrain, c.timeout())
}

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return RequestTimeout
}

func (c *Client) noAnswer(verb Verb, err error) error {
	return &NoAnswerError{Home: c.Home, Verb: verb, Err: err}
}

// ask sends one request and decodes its result. The timeout covers everything from dialling to the last byte.
// Implements G-243.
func ask[T any](ctx context.Context, c *Client, verb Verb, timeout time.Duration) (T, error) {
	return askAbout[T](ctx, c, verb, "", timeout)
}

// askAbout is ask for a verb that is about one profile.
func askAbout[T any](ctx context.Context, c *Client, verb Verb, profile string, timeout time.Duration) (T, error) {
	var result T
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	line, err := c.exchange(ctx, verb, profile)
	if err == nil {
		err = parseResponse(line, &result)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
		}
		var none T
		return none, c.noAnswer(verb, err)
	}
	return result, nil
}

func (c *Client) exchange(ctx context.Context, verb Verb, profile string) ([]byte, error) {
	path, err := findSocket(c.Home)
	if err != nil {
		return nil, err
	}
	if err := checkSocketOwner(path, c.UID); err != nil {
		return nil, err
	}
	line, err := encodeRequest(verb, profile)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// One deadline for both directions, and an immediate one when the caller gives up.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write(line); err != nil {
		return nil, err
	}
	return readLine(conn, MaxResponseBytes)
}
