package llm

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second},
		{"fraction", "Retry-After", "0.5", 500 * time.Millisecond},
		{"date", "Retry-After", "Sun, 29 Nov 2026 12:01:30 GMT", 90 * time.Second},
		{"date in the past", "Retry-After", "Sun, 29 Nov 2026 11:59:00 GMT", 0},
		{"L18 cap", "Retry-After", "86400", 600 * time.Second},
		{"L18 cap of a date", "Retry-After", "Mon, 30 Nov 2026 12:00:00 GMT", 600 * time.Second},
		{"milliseconds", "retry-after-ms", "1500", 1500 * time.Millisecond},
		{"negative", "Retry-After", "-3", 0},
		{"not a number", "Retry-After", "NaN", 0},
		{"infinite", "Retry-After", "Inf", 600 * time.Second},
		{"junk", "Retry-After", "soon", 0},
		{"absent", "X-Other", "1", 0},
	} {
		h := http.Header{}
		h.Set(c.header, c.value)
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestBackoff(t *testing.T) {
	p := DefaultPolicy()
	other, limit := &Error{Verdict: verdict(ReasonServerError)}, &Error{Verdict: verdict(ReasonRateLimit)}
	for _, c := range []struct {
		n      int
		e      *Error
		random float64
		want   time.Duration
	}{
		{0, other, 0, 2 * time.Second}, {0, other, 0.99, 2 * time.Second},
		{1, other, 0, 2 * time.Second}, {1, other, 1, 4 * time.Second},
		{3, other, 1, 16 * time.Second}, {9, other, 1, 60 * time.Second}, {9, other, 0, 30 * time.Second},
		{1000, other, 1, 60 * time.Second},
		{0, limit, 1, 4 * time.Second},
		{0, &Error{Verdict: verdict(ReasonRateLimit), RetryAfter: 90 * time.Second}, 0, 90 * time.Second},
		{0, &Error{Verdict: verdict(ReasonRateLimit), RetryAfter: time.Hour}, 0, 600 * time.Second},
	} {
		if got := p.Backoff(c.n, c.e, c.random); got != c.want {
			t.Errorf("Backoff(%d, %s, %v) = %s, want %s", c.n, c.e.Reason, c.random, got, c.want)
		}
	}
}

// TestDecide is the truth table of L17 and L20.
func TestDecide(t *testing.T) {
	p := DefaultPolicy()
	for _, c := range []struct {
		id   string
		t    tried
		r    Reason
		msg  string
		want action
	}{
		{"L20 auth takes the next key", tried{fresh: 1}, ReasonAuth, "", rotateNow},
		{"auth with the last key ends", tried{}, ReasonAuth, "", giveUp},
		{"L20 billing takes the next key at once", tried{fresh: 1}, ReasonBilling, "", rotateNow},
		{"L20 first rate limit keeps the key", tried{fresh: 1, limited: 1}, ReasonRateLimit, "", waitSame},
		{"L20 second rate limit takes the next key", tried{fresh: 1, limited: 2, retries: 1}, ReasonRateLimit, "", rotateNow},
		{"L20 usage-limit text takes the next key at once", tried{fresh: 1, limited: 1}, ReasonRateLimit, "Weekly limit reached", rotateNow},
		{"rate limit with one key waits", tried{limited: 2, retries: 1}, ReasonRateLimit, "", waitSame},
		{"L20 upstream limit never touches keys", tried{fresh: 3, limited: 5}, ReasonUpstreamRateLimit, "", waitSame},
		{"overload waits", tried{fresh: 3}, ReasonOverloaded, "", waitSame},
		{"retries are bounded", tried{retries: 3}, ReasonServerError, "", giveUp},
		{"waiting is bounded", tried{retries: 1, waited: 599 * time.Second}, ReasonServerError, "", giveUp},
		{"format error ends", tried{fresh: 1}, ReasonFormat, "", giveUp},
		{"overflow needs a smaller request, not another try", tried{fresh: 1}, ReasonContextOverflow, "", giveUp},
	} {
		got, wait := p.decide(c.t, &Error{Verdict: verdict(c.r), Message: c.msg}, 0.5)
		if got != c.want || (got == waitSame) != (wait > 0) {
			t.Errorf("%s: %v after %s, want %v", c.id, got, wait, c.want)
		}
	}
}

func TestPickKey(t *testing.T) {
	keys := []string{"a", "b", "", "c", "a"}
	used := func(k ...string) map[fingerprint]bool {
		m := map[fingerprint]bool{}
		for _, s := range k {
			m[printOf(s)] = true
		}
		return m
	}
	for _, c := range []struct {
		current string
		used    map[fingerprint]bool
		want    string
		fresh   int
	}{
		{"", nil, "a", 2}, {"b", nil, "b", 2}, {"b", used("b"), "c", 1}, {"c", used("c"), "a", 1},
		{"gone", nil, "a", 2}, {"a", used("a", "b", "c"), "", 0},
	} {
		got, fresh, ok := pickKey(keys, printOf(c.current), c.used)
		if got != c.want || fresh != c.fresh || ok != (c.want != "") {
			t.Errorf("current %q used %d: %q fresh %d", c.current, len(c.used), got, fresh)
		}
	}
}

// TestStopDuringBackoff: acceptance case 105, a stop ends a wait at once (L18).
func TestStopDuringBackoff(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	r := &retrier{host: "h", keyOptional: true, policy: DefaultPolicy(), clock: fake, log: logr.Discard(), random: func() float64 { return 0 }, good: &lastGood{}}
	_, err := r.run(ctx, func(context.Context, string, func(Delta)) (Response, error) {
		return Response{}, &Error{Verdict: verdict(ReasonRateLimit), RetryAfter: 500 * time.Second}
	}, func(d Delta) {
		if d.Retry.Wait != 500*time.Second || d.Retry.Attempt != 2 {
			t.Errorf("announced %+v", d.Retry)
		}
		cancel(stopped)
	})
	if !errors.Is(err, stopped) {
		t.Fatalf("got %v", err)
	}
}
