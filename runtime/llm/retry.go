package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Retry tells a listener that an attempt failed and another follows.
type Retry struct {
	Err *Error
	// Attempt is the number of the attempt that follows, from 2.
	Attempt int
	// Wait is how long it is until then; 0 when another key is tried at once.
	Wait time.Duration
}

// attempt sends one request with one key ("" when none is needed).
type attempt func(ctx context.Context, key string, emit func(Delta)) (Response, error)

// retrier runs attempts until one answers, the policy gives up, or the context ends.
type retrier struct {
	host        string
	keys        KeySource
	keyOptional bool
	policy      Policy
	clock       clock.Clock
	log         logr.Logger
	random      func() float64
	good        *lastGood
	// recover rewrites the request after a refusal and reports whether that cures something; nil never does.
	recover func(*Error) bool
	// rebuild drops the connections that are kept; nil has none.
	rebuild func()
}

// run is the loop of L15 for one route: classify, try another key, wait, try again.
func (r *retrier) run(ctx context.Context, do attempt, emit func(Delta)) (Response, error) {
	var t tried
	var last *Error
	used := map[fingerprint]bool{} // keys this request is done with
	limited := map[fingerprint]bool{}
	current, _ := r.good.get()
	for n := 1; ; n++ {
		key, fresh, err := r.pick(ctx, current, used, limited, last)
		if err != nil {
			return Response{}, err
		}
		if fp := printOf(key); fp != current {
			current, t.limited = fp, 0
		}
		resp, err := do(ctx, key, emit)
		if err == nil {
			r.good.set(key)
			return resp, nil
		}
		if ctx.Err() != nil {
			return Response{}, context.Cause(ctx)
		}
		if !errors.As(err, &last) {
			return Response{}, err
		}
		if last.Reason == ReasonRateLimit {
			t.limited++
		}
		if t.stale++; !isStale(last) {
			t.stale = 0
		}
		if t.stale >= staleAttempts {
			last.Verdict = breakerVerdict()
		}
		t.fresh = fresh
		act, wait := r.policy.decide(t, last, r.random())
		if r.recover != nil && r.recover(last) {
			act, wait = rewritten, 0 // targeted recovery comes before the attempt is counted (L15)
		}
		switch act {
		case rewritten:
		case giveUp:
			return Response{}, last
		case rotateNow:
			if last.Reason == ReasonRateLimit {
				limited[current] = true
			} else {
				used[current] = true
			}
			wait = 0
		case waitSame:
			clear(limited)
			t.retries++
			t.waited += wait
		case rebuildNow:
			t.rebuilt = true
			if r.rebuild != nil {
				r.rebuild()
			}
		}
		r.log.V(1).Info("model call failed, trying again", "reason", last.Reason, "status", last.Status, "host", r.host,
			"wait", wait, "anotherKey", act == rotateNow)
		if emit != nil {
			emit(Delta{Retry: &Retry{Err: last, Attempt: n + 1, Wait: wait}})
		}
		if err := r.sleep(ctx, wait); err != nil {
			return Response{}, err
		}
	}
}

// pick asks the source for the keys of this moment and chooses one.
func (r *retrier) pick(ctx context.Context, current fingerprint, used, limited map[fingerprint]bool, last *Error) (string, int, error) {
	var keys []string
	if r.keys != nil {
		var err error
		if keys, err = r.keys(ctx); err != nil {
			if ctx.Err() != nil {
				return "", 0, context.Cause(ctx)
			}
			e := newError(ReasonAuth, CodeCredentialMissing, r.host, "the key cannot be read: %v", err)
			e.Err = err
			return "", 0, e
		}
	}
	done := make(map[fingerprint]bool, len(used)+len(limited))
	for fp := range used {
		done[fp] = true
	}
	for fp := range limited {
		done[fp] = true
	}
	key, fresh, ok := pickKey(keys, current, done)
	switch {
	case ok:
		return key, fresh, nil
	case last != nil && len(keys) > 0:
		return "", 0, last // every key that is left has been refused
	case r.keyOptional:
		return "", 0, nil
	}
	return "", 0, newError(ReasonAuth, CodeCredentialMissing, r.host, "no key is configured for this provider")
}

// sleep waits d or until the context ends. Implements the interruptible half of L18.
func (r *retrier) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := r.clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func lower(s string) string { return strings.ToLower(s) }

func defaultRandom() float64 { return rand.Float64() }
