package localapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/agent"
	"hermes.dev/hermes/runtime/profile"
	"hermes.dev/hermes/runtime/store"
)

// Profile is one open profile, as the API uses it.
type Profile interface {
	// Turn runs one turn; events come on the caller's goroutine.
	Turn(ctx context.Context, t agent.Turn, events agent.Events) (agent.Result, error)
	// Seed begins a session with earlier messages of a client that keeps its own history.
	Seed(ctx context.Context, session store.Session, messages []store.Message) error
	// Compress compacts a session now.
	Compress(ctx context.Context, sessionID, focus string) (agent.Compacted, error)
	// Stop interrupts the running turn of a session.
	Stop(sessionID string) bool
	Conversing
	Stored
	ToolKeeper
	JobKeeper
}

// Backend is what the API serves.
type Backend interface {
	// Profile returns an open profile.
	Profile(name string) (Profile, bool)
	// Profiles lists the open profiles, sorted.
	Profiles() []string
}

// handler serves the API.
type handler struct {
	backend   Backend
	approvals approvals
	log       logr.Logger
	clock     clock.WithTicker
}

func (h *handler) now() time.Time { return h.clock.Now() }

// HandlerConfig of NewHandler.
type HandlerConfig struct {
	Backend Backend
	// Metrics are served at /metrics; nil serves none.
	Metrics prometheus.Gatherer
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// BodyPatience is how long a client may take to send a body; 0 means 30 s.
	BodyPatience time.Duration
	Log          logr.Logger
}

// NewHandler returns the API of a backend.
func NewHandler(c HandlerConfig) http.Handler {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	h := &handler{backend: c.Backend, log: c.Log, clock: c.Clock}
	metrics := c.Metrics
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /v1/models", h.models)
	mux.HandleFunc("POST /v1/chat/completions", h.completions)
	h.handleStored(mux)
	mux.HandleFunc("POST /v1/profiles/{profile}/sessions/{session}/interrupt", h.withProfile(h.interrupt))
	mux.HandleFunc("POST /v1/profiles/{profile}/sessions/{session}/compress", h.withProfile(h.compress))
	mux.HandleFunc("POST /v1/profiles/{profile}/sessions/{session}/approvals/{call}", h.withProfile(h.decide))
	h.routeTools(mux)
	h.routeCron(mux)
	h.handleConversing(mux)
	h.handleDelegating(mux)
	h.backupRoutes(mux)
	if metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, notFound("unknown_path", "%s %s is not part of this API", r.Method, r.URL.Path))
	})
	return boundBody(mux, c.BodyPatience)
}

func (h *handler) withProfile(next func(http.ResponseWriter, *http.Request, Profile)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("profile")
		p, ok := h.backend.Profile(name)
		if !ok {
			writeError(w, h.noProfile(name))
			return
		}
		next(w, r, p)
	}
}

// stopper is a Backend that says when it ends: a profile that is not there any more is then no mistake of the client's.
type stopper interface{ Stopping() bool }

func (h *handler) noProfile(name string) *Error {
	if b, ok := h.backend.(stopper); ok && b.Stopping() {
		return toError(profile.ErrDraining, h.now()) // its profiles are closed one by one
	}
	return notFound("model_not_found", "this gateway does not serve profile %q: see hermes status profile/%s", name, name)
}

func (h *handler) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		OwnedBy string `json:"owned_by"`
	}
	data := []model{}
	for _, name := range h.backend.Profiles() {
		data = append(data, model{ID: name, Object: "model", OwnedBy: "hermes"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (h *handler) interrupt(w http.ResponseWriter, r *http.Request, p Profile) {
	writeJSON(w, http.StatusOK, map[string]bool{"interrupted": p.Stop(r.PathValue("session"))})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone: nobody is left to tell
}

func writeError(w http.ResponseWriter, e *Error) {
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(e.RetryAfter, 10))
	}
	if e.final {
		w.Header().Set("X-Should-Retry", "false") // OpenAI's clients heed it
	}
	writeJSON(w, e.Status, ErrorBody{Error: *e})
}
