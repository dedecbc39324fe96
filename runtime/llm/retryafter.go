package llm

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxRetryAfter is the longest wait a server can impose. Implements L18.
const MaxRetryAfter = 600 * time.Second

// RetryAfter reads how long a server asks to wait, from Retry-After (seconds or an HTTP date) or retry-after-ms.
// It returns 0 when the header says nothing usable or names a moment that has passed, and at most MaxRetryAfter.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return capWait(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return capWait(s)
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	return capWait(t.Sub(now).Seconds())
}

// capWait turns seconds into a wait in 0..MaxRetryAfter; NaN counts as nothing said.
func capWait(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	if seconds >= MaxRetryAfter.Seconds() {
		return MaxRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}
