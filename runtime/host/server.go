package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// ServerConfig says where a control socket is bound and who answers.
type ServerConfig struct {
	// Home is the process home, never a routed profile's.
	Home string
	// TempDir holds the socket when Home's path is too long, see [SocketPath].
	TempDir string
	Handler Handler
	Log     logr.Logger
	// ReadTimeout bounds the wait for a request line and WriteTimeout the writing of an answer; 0 means [RequestTimeout].
	ReadTimeout, WriteTimeout time.Duration
}

// maxConnections bounds how many requests are served at once; more wait in the kernel's queue, where their clients time
// out. Without it a client that never sends could hold as many goroutines as it likes.
const maxConnections = 64

// Server is a bound control socket. One goroutine accepts; each connection has its own.
type Server struct {
	cfg    ServerConfig
	socket BoundSocket
	cancel context.CancelFunc
	ctx    context.Context
	slots  chan struct{}
	done   sync.WaitGroup
}

// Serve binds the control socket of a home and answers until Close. Call it after winning [ClaimHome]: whatever is left
// at the address is replaced. A failure is for the caller to log; a gateway without a socket still runs.
// Implements G-241 and G-242.
func Serve(cfg ServerConfig) (*Server, error) {
	if cfg.Handler == nil {
		return nil, errors.New("control socket needs a handler")
	}
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = RequestTimeout
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = RequestTimeout
	}
	socket, err := Bind(SocketPath(cfg.Home, cfg.TempDir))
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{cfg: cfg, socket: socket, ctx: ctx, cancel: cancel, slots: make(chan struct{}, maxConnections)}
	s.done.Go(s.accept)
	return s, nil
}

// Path returns the address that is bound.
func (s *Server) Path() string { return s.socket.address.Path }

// Close stops accepting, ends the context of running handlers, waits for their connections and removes socket and
// pointer if they are still ours. Closing twice is harmless.
// Implements G-241.
func (s *Server) Close() error {
	s.cancel()
	err := s.socket.Close()
	s.done.Wait()
	return err
}

func (s *Server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		conn, err := s.socket.listener.AcceptUnix()
		if err != nil {
			<-s.slots
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.cfg.Log.Error(err, "accept a control connection")
			if !s.pause() {
				return
			}
			continue
		}
		s.done.Go(func() {
			defer func() { <-s.slots }()
			s.handle(conn)
		})
	}
}

// pause keeps an accept error that persists, such as running out of file descriptors, from becoming a busy loop.
func (s *Server) pause() bool {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// handle serves one connection. An overlong or unfinished request is dropped without a reply.
func (s *Server) handle(conn *net.UnixConn) {
	defer conn.Close()
	// Deadlines are wall-clock times by contract of the net package, so no clock is passed in here.
	// A connection that waits for its request must not delay Close.
	stop := context.AfterFunc(s.ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	if err := conn.SetReadDeadline(time.Now().Add(s.cfg.ReadTimeout)); err != nil || s.ctx.Err() != nil {
		return
	}
	line, err := readLine(conn, MaxRequestBytes)
	if err != nil {
		s.cfg.Log.V(1).Info("dropped a control request", "reason", err.Error())
		return
	}
	answer := encodeResponse(s.answer(line))
	if err := conn.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil {
		return
	}
	if _, err := conn.Write(answer); err != nil {
		s.cfg.Log.V(1).Info("control client went away before its answer", "reason", err.Error())
	}
}

// answer runs the handler of one request.
func (s *Server) answer(line []byte) (reply response) {
	verb, id, err := parseRequest(line)
	if err != nil {
		return failure(id, err.Error())
	}
	defer func() {
		if cause := recover(); cause != nil {
			s.cfg.Log.Error(fmt.Errorf("panic: %v", cause), "control request handler panicked", "verb", string(verb), "stack", string(debug.Stack()))
			reply = failure(id, "internal error while handling "+string(verb))
		}
	}()
	if h, ok := s.cfg.Handler.(ProfileHandler); ok && verb.aboutProfile() {
		return changeProfile(s.ctx, h, verb, id, line)
	}
	result, known := s.dispatch(verb)
	if !known {
		return unknownVerb(id, verb, s.supported())
	}
	return response{OK: true, Protocol: ControlProtocol, Result: result, ID: id}
}

func (s *Server) dispatch(verb Verb) (result any, known bool) {
	switch verb {
	case VerbIdentify:
		identity := s.cfg.Handler.Identify()
		identity.Protocol, identity.Kind = ControlProtocol, Kind
		return identity, true
	case VerbStatus:
		status := s.cfg.Handler.Status()
		status.Protocol = ControlProtocol
		return status, true
	case VerbRescanProfiles:
		return s.cfg.Handler.Rescan(s.ctx), true
	case VerbDrain:
		return s.cfg.Handler.Drain(s.ctx), true
	default:
		return nil, false
	}
}

var errLineTooLong = errors.New("line is too long")

// readLine reads up to the first newline, or to the end of a stream that has none. limit does not count the newline.
func readLine(r io.Reader, limit int) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(r, int64(limit)+1)).ReadBytes('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case !errors.Is(err, io.EOF):
		return nil, err
	case len(line) > limit:
		return nil, errLineTooLong
	case len(line) == 0:
		return nil, io.ErrUnexpectedEOF
	default:
		return line, nil
	}
}

// encodeRequest builds the line a client sends.
func encodeRequest(verb Verb, profile string) ([]byte, error) {
	line, err := json.Marshal(request{Verb: verb, ID: json.RawMessage("1"), Protocol: ControlProtocol, Profile: profile})
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}
