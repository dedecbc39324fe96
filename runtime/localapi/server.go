package localapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// socketName is the API socket inside a home root.
const socketName = "gateway-api.sock"

// maxSocketPath is the longest path a unix socket is bound at, in bytes; the kernel's limit is a little above.
const maxSocketPath = 100

// Config of a Server.
type Config struct {
	// Home is the home root.
	Home string
	// TempDir holds the socket when its path in the home would be too long.
	TempDir string
	Backend Backend
	// Metrics are served at /metrics; nil serves none.
	Metrics prometheus.Gatherer
	// Clock defaults to the real one.
	Clock clock.WithTicker
	Log   logr.Logger
}

// Server serves the API on a unix socket that only this user can reach.
type Server struct {
	path   string
	server *http.Server
	done   chan error
}

// SocketPath returns where the API socket of a home root is.
func SocketPath(home, tempDir string) string {
	direct := filepath.Join(home, socketName)
	if len(direct) <= maxSocketPath {
		return direct
	}
	sum := sha256.Sum256([]byte(home))
	name := "hermes-api-" + hex.EncodeToString(sum[:8]) + ".sock"
	if path := filepath.Join(tempDir, name); tempDir != "" && len(path) <= maxSocketPath {
		return path
	}
	return filepath.Join("/tmp", name)
}

// Serve binds the socket and serves until Close. Call it only while holding the home's lock: what is left at the
// path is replaced.
func Serve(c Config) (*Server, error) {
	path := SocketPath(c.Home, c.TempDir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the old API socket: %w", err)
	}
	ln, err := listen(path)
	if err != nil {
		return nil, err
	}
	handler := NewHandler(HandlerConfig{Backend: c.Backend, Metrics: c.Metrics, Clock: c.Clock, Log: c.Log})
	s := &Server{
		path: path, done: make(chan error, 1),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: errorLog(c.Log)},
	}
	go func() { s.done <- s.server.Serve(ln) }()
	return s, nil
}

// errorLog sends what net/http has to say, such as the panic of a handler, to our log.
func errorLog(l logr.Logger) *log.Logger {
	if l.GetSink() == nil {
		return nil
	}
	return slog.NewLogLogger(logr.ToSlogHandler(l), slog.LevelInfo)
}

// listen binds the socket in a way that nobody else can connect to even for a moment: it is
// made under a private name in a private directory and moved into place.
func listen(path string) (net.Listener, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("make room for the API socket: %w", err)
	}
	defer os.RemoveAll(dir)
	private := filepath.Join(dir, "s")
	if len(private) > maxSocketPath+7 {
		return nil, &net.OpError{Op: "listen", Net: "unix", Err: syscall.ENAMETOOLONG}
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: private, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("bind the API socket: %w", err)
	}
	ln.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(private, 0o600), os.Rename(private, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("place the API socket: %w", err), ln.Close())
	}
	return ln, nil
}

// Path of the socket.
func (s *Server) Path() string { return s.path }

// Close takes no new requests, waits for those in flight until ctx ends, and removes the socket.
func (s *Server) Close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if rm := os.Remove(s.path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return err
}
