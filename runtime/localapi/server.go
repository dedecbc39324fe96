package localapi

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/host"
)

// socketName is the API socket inside a home root.
const socketName = "gateway-api.sock"

// Config of a Server.
type Config struct {
	// Home is the home root.
	Home string
	// TempDir holds the socket when its path in the home would be too long.
	TempDir string
	// Inherited is the listening socket of a predecessor that is being followed in this place; nil binds a new one.
	Inherited *os.File
	// Closed lets nobody in before Open.
	Closed  bool
	Backend Backend
	// Metrics are served at /metrics; nil serves none.
	Metrics prometheus.Gatherer
	// Clock defaults to the real one.
	Clock clock.WithTicker
	// BodyPatience is how long a client may take to send a body; 0 means 30 s.
	BodyPatience time.Duration
	Log          logr.Logger
}

// Server serves the API on a unix socket that only this user can reach.
type Server struct {
	socket     host.BoundSocket
	server     *http.Server
	done       chan error
	gate       *gate
	handedOver bool
}

// SocketPath returns where the API socket of a home root is. Whoever does not know the gateway's TempDir learns the
// path over the control socket.
func SocketPath(home, tempDir string) string {
	path, _ := host.PlaceSocket(home, tempDir, socketName, "hermes-api-")
	return path
}

// Serve binds the socket and serves until Close. Call it only while holding the home's lock: what is left at the
// path is replaced.
func Serve(c Config) (*Server, error) {
	socket, err := host.BindOrInherit(host.SocketAddress{Path: SocketPath(c.Home, c.TempDir)}, c.Inherited)
	if err != nil {
		return nil, fmt.Errorf("API socket: %w", err)
	}
	handler := NewHandler(HandlerConfig{Backend: c.Backend, Metrics: c.Metrics, Clock: c.Clock, BodyPatience: c.BodyPatience, Log: c.Log})
	s := &Server{
		socket: socket, done: make(chan error, 1),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: errorLog(c.Log)},
	}
	s.gate = newGate(socket.Listener())
	if !c.Closed {
		s.Open()
	}
	go func() { s.done <- s.server.Serve(s.gate) }()
	return s, nil
}

// errorLog sends what net/http has to say, such as the panic of a handler, to our log.
func errorLog(l logr.Logger) *log.Logger {
	if l.GetSink() == nil {
		return nil
	}
	return slog.NewLogLogger(logr.ToSlogHandler(l), slog.LevelInfo)
}

// Path of the socket.
func (s *Server) Path() string { return s.socket.Path() }

// Close takes no new requests, waits for those in flight until ctx ends, and removes the socket if it is still ours.
func (s *Server) Close(ctx context.Context) error {
	if !s.handedOver {
		s.turnAway(ctx)
	}
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if s.handedOver {
		return err // the file is the successor's
	}
	return errors.Join(err, s.socket.Close())
}
