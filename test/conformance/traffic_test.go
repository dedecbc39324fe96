package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// traffic sees every request that the operator and the node agents send.
type traffic struct {
	mu     sync.Mutex
	writes map[string][]write
}

// write is one request that is not a read.
type write struct {
	at   time.Time
	who  string
	what string
}

func (w write) String() string { return fmt.Sprintf("%s %s", w.who, w.what) }

func newTraffic() *traffic { return &traffic{writes: map[string][]write{}} }

// count returns a configuration whose requests are recorded under who.
func (t *traffic) count(cfg *rest.Config, who string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = who
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return recorder{t, who, next} })
	return cfg
}

type recorder struct {
	traffic *traffic
	who     string
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.next.RoundTrip(req)
	if req.Method != http.MethodGet {
		code := "no answer"
		if err == nil {
			code = res.Status
		}
		r.traffic.record(namespaceOf(req.URL.Path), write{time.Now(), r.who, req.Method + " " + req.URL.Path + " " + code})
	}
	return res, err
}

func (t *traffic) record(namespace string, w write) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes[namespace] = append(t.writes[namespace], w)
}

// of returns the writes into a namespace so far.
func (t *traffic) of(namespace string) []write {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]write(nil), t.writes[namespace]...)
}

func namespaceOf(path string) string {
	_, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
