package fakemodel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// maxRequest is the largest request body the server takes, in bytes.
const maxRequest = 64 << 20

// Request is one recorded call of /chat/completions or /v1/messages.
type Request struct {
	Path   string
	Header http.Header
	// Body is exactly what was sent.
	Body []byte
	// Key is the bearer token, or x-api-key.
	Key string
	// Parsed is Body; it is empty when Body is not JSON.
	Parsed Chat
}

// Chat is the part of a request of either dialect that tests look at. Messages stay raw so that prefixes can be
// compared byte by byte.
type Chat struct {
	Model         string            `json:"model"`
	Stream        bool              `json:"stream"`
	StreamOptions json.RawMessage   `json:"stream_options"`
	Messages      []json.RawMessage `json:"messages"`
	Tools         []json.RawMessage `json:"tools"`
	// System is what the messages dialect has instead of a system message.
	System json.RawMessage `json:"system"`
}

// Message is a decoded message of a request.
type Message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// UnmarshalJSON takes a content in both forms.
func (m *Message) UnmarshalJSON(b []byte) error {
	type plain Message
	var w struct {
		*plain
		Content json.RawMessage `json:"content"`
	}
	w.plain = (*plain)(m)
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(w.Content, &parts) == nil {
		for _, p := range parts {
			m.Content += p.Text
		}
		return nil
	}
	return json.Unmarshal(w.Content, &m.Content)
}

// Decoded gives the messages of the request; one that is not an object is left empty.
func (c Chat) Decoded() []Message {
	out := make([]Message, len(c.Messages))
	for i, raw := range c.Messages {
		_ = json.Unmarshal(raw, &out[i])
	}
	return out
}

// Server is a running fake model. Its methods are safe for concurrent use.
type Server struct {
	http   *http.Server
	url    string
	served chan struct{}
	stop   context.CancelFunc

	mu       sync.Mutex
	script   []Turn
	respond  func(Request) Turn
	title    Turn
	titles   []Request
	keys     map[string]bool
	requests []Request
	// modelList is what GET /models answers; empty for the default.
	modelList string
	arrived   chan struct{} // closed and replaced at every request
}

// Start serves on addr, or on a free loopback port when addr is empty.
func Start(addr string) (*Server, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening for the fake model: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{url: "http://" + l.Addr().String() + "/v1", served: make(chan struct{}), stop: stop, arrived: make(chan struct{}), title: Text(DefaultTitle)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chat{}))
	mux.HandleFunc("POST "+messagesPath+"/v1/messages", s.serve(messages{}))
	mux.HandleFunc("GET "+messagesPath+"/v1/models", s.models)
	mux.HandleFunc("GET /v1/models", s.models)
	s.http = &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// URL is the base URL of chat completions to configure, ending in /v1.
func (s *Server) URL() string { return s.url }

// MessagesURL is the base URL of the Anthropic messages dialect.
func (s *Server) MessagesURL() string { return strings.TrimSuffix(s.url, "/v1") + messagesPath }

// Models makes GET /models answer with this JSON instead of its own.
func (s *Server) Models(json string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modelList = json
}

// Close ends every answer in progress and stops serving.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.served
	return err
}

// Script appends turns; each request takes the next one. Without any left the server repeats what the user said.
func (s *Server) Script(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, turns...)
}

// Respond makes turns from requests when the script is empty. f may run concurrently.
func (s *Server) Respond(f func(Request) Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = f
}

// AllowKeys makes these the only keys that are not refused with 401. Without keys every request is allowed again.
func (s *Server) AllowKeys(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = nil
	for _, k := range keys {
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[k] = true
	}
}

// Requests gives what was recorded so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// WaitRequests waits until at least n requests have arrived.
func (s *Server) WaitRequests(ctx context.Context, n int) ([]Request, error) {
	for {
		s.mu.Lock()
		have, next := append([]Request(nil), s.requests...), s.arrived
		s.mu.Unlock()
		if len(have) >= n {
			return have, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return have, fmt.Errorf("%d of %d requests arrived: %w", len(have), n, ctx.Err())
		}
	}
}

// record keeps the request and decides its turn.
func (s *Server) record(r Request) (turn Turn, refused bool) {
	s.mu.Lock()
	if asksForTitle(r) {
		defer s.mu.Unlock()
		s.titles = append(s.titles, r)
		close(s.arrived)
		s.arrived = make(chan struct{})
		return s.title, s.keys != nil && !s.keys[r.Key]
	}
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	if s.keys != nil && !s.keys[r.Key] {
		s.mu.Unlock()
		return Turn{}, true
	}
	respond := s.respond
	if len(s.script) > 0 {
		turn = s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		return turn, false
	}
	s.mu.Unlock()
	if respond != nil {
		return respond(r), false
	}
	return Text("you said: " + lastUser(r.Parsed)), false
}

func lastUser(c Chat) string {
	said := ""
	for _, m := range c.Decoded() {
		if m.Role == "user" {
			said = m.Content
		}
	}
	return said
}

// serve answers requests of one dialect.
func (s *Server) serve(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			d.writeError(w, http.StatusRequestEntityTooLarge, "", "invalid_request_error", "request body too large")
			return
		}
		key := cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		req := Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Key: key}
		parseErr := json.Unmarshal(body, &req.Parsed)
		turn, refused := s.record(req)
		switch {
		case refused:
			d.writeError(w, http.StatusUnauthorized, "invalid_api_key", "authentication_error", "Incorrect API key provided: "+req.Key)
		case parseErr != nil:
			d.writeError(w, http.StatusBadRequest, "", "invalid_request_error", "the body is not JSON: "+parseErr.Error())
		default:
			s.answer(w, r, d, req.Parsed, turn)
		}
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := s.modelList
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, cmp.Or(list, `{"object":"list","data":[{"id":"fake-1","object":"model","created":0,"owned_by":"fakemodel"}]}`))
}

// dialect is one protocol the server speaks.
type dialect interface {
	whole(c Chat, t Turn) map[string]any
	stream(o *out, c Chat, t Turn)
	keepalive() string
	writeError(w http.ResponseWriter, status int, code, typ, message string)
}

// chat is OpenAI chat completions.
type chat struct{}

func (chat) writeError(w http.ResponseWriter, status int, code, typ, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	var c any
	if code != "" {
		c = code
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": typ, "code": c, "param": nil}})
}
