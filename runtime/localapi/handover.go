package localapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// gate is a listener that lets nobody in before it is opened, and again nobody once it is held. Whoever connects
// meanwhile waits in the kernel's queue of the socket, which outlives this process when its successor inherits it.
type gate struct {
	*net.UnixListener
	opened, held, emptied, closed chan struct{}
	open, hold, empty, close      sync.Once
}

func newGate(l *net.UnixListener) *gate {
	return &gate{UnixListener: l, opened: make(chan struct{}), held: make(chan struct{}), emptied: make(chan struct{}), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case <-g.opened:
	case <-g.closed:
		return nil, net.ErrClosed
	}
	conn, err := g.UnixListener.Accept()
	select {
	case <-g.held:
		if err == nil {
			return conn, nil
		}
		g.empty.Do(func() { close(g.emptied) })
		<-g.closed
		return nil, net.ErrClosed
	default:
		return conn, err
	}
}

// Close implements net.Listener.
func (g *gate) Close() error {
	g.close.Do(func() { close(g.closed) })
	return g.UnixListener.Close()
}

// Open begins to answer. Until then requests wait: what they ask for is not there yet.
func (s *Server) Open() { s.gate.open.Do(func() { close(s.gate.opened) }) }

// HandOver lets nobody in any more and returns the listening socket for a successor: who connects from now on waits for
// it and is neither refused nor lost. The socket's file stays when the server closes.
func (s *Server) HandOver() (*os.File, error) {
	file, err := s.gate.File()
	if err != nil {
		return nil, fmt.Errorf("hand the API socket over: %w", err)
	}
	s.handedOver = true
	s.gate.hold.Do(func() { close(s.gate.held) })
	s.server.SetKeepAlivesEnabled(false)
	return file, s.gate.SetDeadline(time.Now()) // wakes an Accept that waits
}

// emptyWithin is ample for accepting whoever waits in a queue that nobody can join any more.
const emptyWithin = 50 * time.Millisecond

// turnAway makes the address go first, so that nobody can connect any more, and then lets everybody in who has: they are
// answered, and not cut off with a request that nobody read.
func (s *Server) turnAway(ctx context.Context) {
	select {
	case <-s.gate.opened:
	default:
		return
	}
	s.socket.Unlink()
	s.server.SetKeepAlivesEnabled(false)
	if err := s.gate.SetDeadline(time.Now().Add(emptyWithin)); err != nil {
		return
	}
	s.gate.hold.Do(func() { close(s.gate.held) })
	select {
	case <-s.gate.emptied:
	case <-ctx.Done():
	}
}

// waiting is between two attempts to reach a gateway that restarts.
const waiting = 100 * time.Millisecond

func isCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// notDialled reports a failure before anything was sent.
func notDialled(err error) bool {
	var dial *net.OpError
	return isCode(err, CodeUnreachable) && errors.As(err, &dial) && dial.Op == "dial"
}

// patiently sends again what a gateway that stops has refused, until its successor answers or patience is over. A turn
// that was refused was not begun, so nothing is said twice.
func (c *Client) patiently(ctx context.Context, send func() error) error {
	err := send()
	if !isCode(err, codeStopping) || c.Patience <= 0 {
		return err
	}
	over := time.NewTimer(c.Patience)
	defer over.Stop()
	for isCode(err, codeStopping) || notDialled(err) {
		next := time.NewTimer(waiting)
		select {
		case <-next.C:
		case <-over.C:
			next.Stop()
			return err
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		}
		err = send()
	}
	return err
}
