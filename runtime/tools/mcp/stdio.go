package mcp

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.dev/hermes/runtime/tools"
)

// exitGrace is how long a local server gets to end by itself once its input is closed.
const exitGrace = 2 * time.Second

// local is the transport of a local server: its child process.
type local struct {
	spec  tools.ChildSpec
	noise *noise
	clock Clock
	child *tools.Child
}

func newLocal(o *Options, dir string, s *Server) *local {
	l := &local{clock: o.Clock, noise: &noise{log: o.Log.WithValues("server", s.Name), hide: s.hide}}
	l.spec = tools.ChildSpec{Command: s.Command, Args: s.Args, Home: o.Home, Dir: dir, RunID: o.RunID, Orphans: o.Orphans, Stderr: l.noise}
	for name, value := range s.Env {
		l.spec.Environ = append(l.spec.Environ, name+"="+value)
	}
	slices.Sort(l.spec.Environ)
	return l
}

// Connect implements sdk.Transport: it starts the child, which ends with ctx whatever it is doing then.
func (l *local) Connect(ctx context.Context) (sdk.Connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	child, err := tools.StartChild(l.spec)
	if err != nil {
		return nil, &startError{err}
	}
	l.child = child
	context.AfterFunc(ctx, child.Kill)
	t := &sdk.IOTransport{
		// Closing comes with the writer, which ends the child.
		Reader:        io.NopCloser(newMessageLines(child, l.noise.stray)),
		Writer:        childInput{l},
		MaxLineLength: maxMessage + 64,
	}
	return t.Connect(ctx)
}

// startError is a command that cannot be started: no other way to connect would help.
type startError struct{ error }

// childInput writes to the child; closing it ends the child.
type childInput struct{ *local }

func (c childInput) Write(p []byte) (int, error) { return c.child.Write(p) }

func (c childInput) Close() error {
	timer := c.clock.NewTimer(exitGrace)
	defer timer.Stop()
	c.child.Close(timer.C())
	return nil
}

// release ends what is left of the child.
func (l *local) release() {
	if l.child != nil {
		l.child.Kill()
		l.child.Close(nil)
	}
}

// explain adds how the child ended and what it said last.
func (l *local) explain(err error) error {
	if l.child == nil {
		return err
	}
	select {
	case <-l.child.Done():
		err = fmt.Errorf("%w: %s", err, l.child.Ending())
	default:
	}
	if said := l.noise.words(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}
