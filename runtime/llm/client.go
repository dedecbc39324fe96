package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Sizes the client accepts, in bytes.
const (
	maxErrorBody = 64 << 10
	maxEvent     = 8 << 20
	maxAnswer    = 32 << 20
)

// maxCalls is how many tools one answer may call. Each call costs a result, and all of them go back to the server with
// every further request of the session.
const maxCalls = 512

// maxPauses is how often one answer is continued after the server paused it.
const maxPauses = 8

// Options configure a Client.
type Options struct {
	Route Route
	// Keys gives the keys that are valid now; nil means that the server needs none, which only KeyOptional routes
	// allow. A source that has run empty is a missing credential even there: a revoked key must show.
	Keys KeySource
	// Transport carries the requests; nil makes one of this client's own.
	Transport http.RoundTripper
	Timeouts  Timeouts
	// Policy bounds retries; the zero value is DefaultPolicy.
	Policy Policy
	// Window of the model in tokens, 0 for unknown: it tells a request that is too long from one that is wrong.
	Window int64
	// Headers are sent with every request, in addition to the client's own.
	Headers http.Header
	Clock   clock.WithDelayedExecution
	Log     logr.Logger
	// Random gives jitter in [0,1); nil uses math/rand.
	Random func() float64
}

// Client streams answers from one route, in the dialect the route speaks. It is safe for concurrent use.
type Client struct {
	o       Options
	http    *http.Client
	own     *http.Transport
	good    lastGood
	learned learned
}

var _ Model = (*Client)(nil)

// NewClient makes a client. Its errors say what to change in the configuration.
func NewClient(o Options) (*Client, error) {
	if o.Route.url == nil {
		return nil, errors.New("a model client needs a route: use NewRoute")
	}
	o.Timeouts = o.Timeouts.withDefaults()
	if o.Policy == (Policy{}) {
		o.Policy = DefaultPolicy()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Random == nil {
		o.Random = defaultRandom
	}
	c := &Client{o: o}
	if o.Transport == nil {
		c.own = NewTransport(o.Timeouts.Connect)
		c.o.Transport = c.own
	}
	c.http = &http.Client{
		Transport: c.o.Transport,
		// A redirect is an answer, not something to follow: the key and the conversation would go with it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close drops idle connections of the client's own transport.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Stream implements Model: it sends the request, tries again, takes other keys and rewrites the request as the policy
// and the server's refusals allow, continues an answer that the server paused, and reports an attempt that failed as
// Delta.Retry. When ctx ends it returns the context's cause at once.
func (c *Client) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	if err := ctx.Err(); err != nil {
		return Response{}, context.Cause(ctx)
	}
	if emit == nil {
		emit = func(Delta) {}
	}
	resp, err := c.stream(ctx, req, emit)
	for n := 0; err == nil && resp.FinishReason == FinishPause; n++ {
		if n == maxPauses {
			return Response{}, newError(ReasonIncomplete, FinishPause, c.o.Route.Host(), "the answer was paused %d times without an end", n+1)
		}
		next := req
		next.NoStream = resp.NoStream
		next.Messages = append(slices.Clone(req.Messages), resp.Message)
		var more Response
		if more, err = c.stream(ctx, next, emit); err == nil {
			resp = continued(resp, more, c.o.Route.Host())
		}
	}
	return resp, err
}

// stream is one answer, with the retries it took.
func (c *Client) stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	noStream, w := req.NoStream, c.learned.get(req.Model)
	rt := &retrier{
		host: c.o.Route.Host(), keys: c.o.Keys, keyOptional: c.o.Keys == nil && c.o.Route.KeyOptional, policy: c.o.Policy,
		clock: c.o.Clock, log: c.o.Log, random: c.o.Random, good: &c.good,
		recover: func(e *Error) (cured bool) {
			if e.Code == CodeKeepaliveOnly {
				noStream = true // L9: the next attempt asks for the answer in one piece
			}
			w, cured = w.next(e, req, c.o.Headers)
			return cured
		},
		rebuild: c.rebuild,
	}
	resp, err := rt.run(ctx, func(ctx context.Context, key string, emit func(Delta)) (Response, error) {
		r := req
		r.NoStream = noStream
		return c.once(ctx, r, w, key, emit)
	}, emit)
	if err == nil {
		c.learned.set(req.Model, w)
	}
	resp.NoStream = noStream
	return resp, err
}

// rebuild drops the connections that are kept, so that the next attempt makes its own. Implements the transport
// rebuild of L16.
func (c *Client) rebuild() {
	if t, ok := c.o.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// once is one attempt with one key.
func (c *Client) once(parent context.Context, req Request, rw rewrites, key string, emit func(Delta)) (Response, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := newWatchdog(c.o.Clock, cancel)
	defer w.stop()

	hreq, err := c.newRequest(ctx, req, rw, key)
	if err != nil {
		return Response{}, err
	}
	t := c.o.Timeouts
	w.arm(2*t.Connect, CodeConnect)
	hreq = hreq.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { w.arm(t.FirstByte, CodeFirstByteTimeout) },
	}))
	hresp, err := c.http.Do(hreq)
	if err != nil {
		return Response{}, c.transportError(ctx, parent, req, key, err, CodeConnect)
	}
	defer hresp.Body.Close()
	body := &watchedBody{r: hresp.Body, w: w, idle: t.Idle}
	if hresp.StatusCode != http.StatusOK {
		return Response{}, c.statusError(parent, req, key, hresp, body)
	}
	resp, err := c.readAnswer(hresp, body, w, emit)
	var e *Error
	if errors.As(err, &e) {
		e.Message = redact(e.Message, key)
	} else if err != nil {
		err = c.transportError(ctx, parent, req, key, err, CodeStreamTruncated)
	}
	return resp, err
}

func (c *Client) newRequest(ctx context.Context, req Request, rw rewrites, key string) (*http.Request, error) {
	if key != "" && !keyMayTravel(c.o.Route.url) {
		return nil, newError(ReasonFormat, "plaintext", c.o.Route.Host(),
			"the base URL is http:// on a public host, so the key was not sent: use https://")
	}
	wire := c.o.Route.wire()
	b, err := wire.encode(req, c.o.Route, rw)
	if err != nil {
		e := newError(ReasonFormat, CodeEncode, c.o.Route.Host(), "the request cannot be written as JSON: %v", err)
		e.Err, e.Local = err, IsLocal(err)
		return nil, e
	}
	u := wire.endpoint(c.o.Route.url)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	for k, v := range c.o.Headers {
		r.Header[k] = slices.Clone(v)
	}
	rw.headers(r.Header)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "hermes")
	r.Header.Set("Accept", "text/event-stream, application/json")
	if req.NoStream {
		r.Header.Set("Accept", "application/json")
	}
	wire.authorize(r.Header, key, c.o.Route)
	return r, nil
}

// transportError explains an error of the connection: our own timers first, because they only show as a cancelled
// context, then the caller's cancellation, then the network.
func (c *Client) transportError(ctx, parent context.Context, req Request, key string, err error, code string) error {
	if parent.Err() != nil {
		return context.Cause(parent)
	}
	host := c.o.Route.Host()
	var fired *watchdogFired
	if errors.As(context.Cause(ctx), &fired) {
		return newError(ReasonTimeout, fired.code, host, "%s", fired.Error())
	}
	v := Classify(Failure{Transport: err, Large: c.large(req), Thinks: thinks(req)})
	e := &Error{Verdict: v, Code: code, Host: host, Err: err}
	switch {
	case v.Reason == ReasonCertificate:
		e.Message = fmt.Sprintf("the server's certificate cannot be verified: %v", rootCause(err))
	case code == CodeStreamTruncated:
		e.Message = fmt.Sprintf("the answer was cut off: %v", rootCause(err))
	default:
		e.Message = connectMessage(host, err)
	}
	e.Message = redact(e.Message, key)
	return e
}

// large reports whether a request fills most of the window, as far as both are known.
func (c *Client) large(r Request) bool {
	if c.o.Window <= 0 {
		return false
	}
	var n int64
	for _, m := range r.Messages {
		n += EstimateTokens(m.Content)
		for _, call := range m.ToolCalls {
			n += EstimateTokens(call.Arguments)
		}
	}
	return n > c.o.Window/10*8
}

// thinks reports whether the model has thought in this conversation.
func thinks(r Request) bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return len(m.Native) > 0 || m.Reasoning != "" })
}

// readAnswer reads a 200: an event stream, or one JSON object from servers that do not stream.
func (c *Client) readAnswer(h *http.Response, body io.Reader, w *watchdog, emit func(Delta)) (Response, error) {
	switch mediaType(h.Header) {
	case "text/event-stream":
		return c.readStream(body, w, emit)
	case "application/json", "":
		return c.readWhole(body, emit)
	}
	return Response{}, newError(ReasonFormat, CodeNotAnAPI, c.o.Route.Host(),
		"answered with %q instead of a model's answer: check that the base URL ends where %s begins",
		clip(h.Header.Get("Content-Type"), 100), pathBelow(c.o.Route))
}

// pathBelow is the path that requests add to the route's base URL.
func pathBelow(r Route) string { return strings.TrimPrefix(r.wire().endpoint(r.url).Path, r.url.Path) }

// rootCause drops the wrapping that repeats the URL.
func rootCause(err error) error {
	for {
		u := errors.Unwrap(err)
		if u == nil {
			return err
		}
		err = u
	}
}
