package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Candidate is one route of a Chain and the model to ask for there.
type Candidate struct {
	Model Model
	// Name is the model's name at this route.
	Name string
	// Provider and BaseURL label the route.
	Provider, BaseURL string
	// Window of the model in tokens; 0 asks the server, once, when it matters.
	Window int64
	// Keys are looked at to notice that refused ones were replaced; nil when the route has none.
	Keys KeySource
}

func (c Candidate) label() string { return c.Provider + "/" + c.Name }

// Fallback tells a listener that another route answers than the first one.
type Fallback struct {
	// From is the route that failed or rests, To the one that is asked now, both as provider/model.
	From, To string
	// Err is why; it is never nil.
	Err *Error
	// Resting is true when nothing failed for this request: From failed before and is tried again later.
	Resting bool
}

// String says it to a person.
func (f Fallback) String() string {
	return fmt.Sprintf("answering with %s because %s failed: %s", f.To, f.From, f.Err.Text())
}

// Chain answers with the first of its routes that can. What it remembers of failures belongs to it and to nobody else.
// It is safe for concurrent use.
//
// Implements L12, L16, L17, L19 and L21.
type Chain struct {
	list  []Candidate
	clock clock.PassiveClock
	log   logr.Logger

	mu      sync.Mutex
	benches []bench
	why     []*Error
	windows []windowSeen
}

var _ Model = (*Chain)(nil)

// NewChain makes a chain; the first candidate is the primary.
func NewChain(c clock.PassiveClock, log logr.Logger, candidates ...Candidate) (*Chain, error) {
	if len(candidates) == 0 {
		return nil, errors.New("a chain needs a model")
	}
	if c == nil {
		c = clock.RealClock{}
	}
	n := len(candidates)
	return &Chain{list: candidates, clock: c, log: log, benches: make([]bench, n), why: make([]*Error, n), windows: make([]windowSeen, n)}, nil
}

// Close closes the models that can be closed.
func (c *Chain) Close() {
	for _, m := range c.list {
		if cl, ok := m.Model.(interface{ Close() }); ok {
			cl.Close()
		}
	}
}

// Stream implements Model. Each route gets the request as it was made, with its own model name and, when its window
// differs from the primary's, refitted messages; each starts with fresh counters.
func (c *Chain) Stream(ctx context.Context, req Request, emit func(Delta)) (Response, error) {
	if emit == nil {
		emit = func(Delta) {}
	}
	keys := c.keys(ctx)
	var failures []failure
	for n, i := range c.order(keys) {
		if i != 0 {
			c.announce(i, n, failures, emit)
		}
		resp, err := c.ask(ctx, i, req, emit)
		if err == nil {
			c.note(i, nil, keys[i])
			resp.Provider, resp.BaseURL = c.list[i].Provider, c.list[i].BaseURL
			return resp, nil
		}
		var e *Error
		if ctx.Err() != nil {
			return Response{}, context.Cause(ctx)
		}
		if !errors.As(err, &e) {
			return Response{}, err
		}
		c.note(i, e, keys[i])
		failures = append(failures, failure{c.list[i].label(), e})
		if Settle(e) != StepFallback {
			break
		}
		if n < len(c.list)-1 {
			emit(Delta{Retry: &Retry{Err: e, Attempt: 1}})
		}
	}
	return Response{}, summary(failures)
}

// ask sends a request to one route.
func (c *Chain) ask(ctx context.Context, i int, req Request, emit func(Delta)) (Response, error) {
	cand := c.list[i]
	if i != 0 || req.Model == "" {
		req.Model = cand.Name
	}
	if i != 0 && req.Refit != nil {
		if w := c.windowOf(ctx, i); w > 0 && w != c.windowOf(ctx, 0) {
			msgs, err := req.Refit(ctx, w)
			if err != nil {
				if ctx.Err() != nil {
					return Response{}, context.Cause(ctx)
				}
				e := newError(ReasonFormat, CodeRefit, cand.label(), "the conversation does not fit its window of %d tokens: %v", w, err)
				e.Err = err
				return Response{}, e
			}
			req.Messages = msgs
		}
	}
	return cand.Model.Stream(ctx, req, emit)
}

// announce tells that route i is asked instead of the one that failed or rests.
func (c *Chain) announce(i, n int, failures []failure, emit func(Delta)) {
	f := Fallback{To: c.list[i].label()}
	if len(failures) > 0 {
		last := failures[len(failures)-1]
		f.From, f.Err = last.label, last.err
	} else {
		c.mu.Lock()
		f.From, f.Err, f.Resting = c.list[0].label(), c.why[0], true
		c.mu.Unlock()
	}
	if f.Err == nil {
		return
	}
	level := 0
	if f.Resting {
		level = 1
	}
	c.log.V(level).Info("asking another model", "from", f.From, "to", f.To, "reason", f.Err.Reason, "position", n)
	emit(Delta{Fallback: &f})
}

// Standing says why the primary model is not the one that answers, "" while it is.
func (c *Chain) Standing() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why[0] == nil || len(c.list) == 1 {
		return ""
	}
	return fmt.Sprintf("fallbacks answer because %s failed: %s", c.list[0].label(), c.why[0].Text())
}

func (c *Chain) order(keys []fingerprint) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return order(c.benches, c.clock.Now(), keys)
}

func (c *Chain) note(i int, e *Error, keys fingerprint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e == nil {
		c.benches[i], c.why[i] = bench{}, nil
		return
	}
	c.benches[i], c.why[i] = c.benches[i].failed(c.clock.Now(), e, keys), e
}

// keys are the fingerprints of the keys that each route has now. With a single route nothing is compared.
func (c *Chain) keys(ctx context.Context) []fingerprint {
	out := make([]fingerprint, len(c.list))
	if len(c.list) == 1 {
		return out
	}
	for i, cand := range c.list {
		if cand.Keys == nil {
			continue
		}
		if keys, err := cand.Keys(ctx); err == nil {
			out[i] = printOf(strings.Join(keys, "\n"))
		}
	}
	return out
}

type failure struct {
	label string
	err   *Error
}

// summary is the failure of a chain: that of the first route that was tried, which is what a person has to mend, and
// what the others said. It says when the first of them is to be had again.
func summary(failures []failure) *Error {
	e := *failures[0].err
	for _, f := range failures[1:] {
		e.Message = clip(e.Message+"; "+f.label+" failed as well: "+f.err.Text(), maxErrorText)
		if f.err.RetryAfter > 0 && e.RetryAfter > f.err.RetryAfter {
			e.RetryAfter = f.err.RetryAfter
		}
	}
	if last := failures[len(failures)-1].err; last.Compress {
		e.Verdict = last.Verdict // the caller can still make it fit
	}
	return &e
}
