package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/tools"
)

// Clock is what a Servers needs of time.
type Clock interface {
	clock.WithTicker
	clock.WithDelayedExecution
}

// Options of Servers.
type Options struct {
	// Home is the profile's HERMES_HOME, an absolute path.
	Home string
	// RunID of this run of the gateway; local servers carry it, so that they can be found.
	RunID string
	// Orphans of the process, nil for none.
	Orphans *tools.Orphans
	// Starts bounds how many local servers are started at once; servers of many profiles share it. nil means four.
	Starts chan struct{}
	// Changed is called, without locks held, after what Troubled says may have changed.
	Changed func()
	Clock   Clock
	Log     logr.Logger
}

// Servers are the MCP servers of one profile. The methods are safe for concurrent use.
type Servers struct {
	o       Options
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server
	sets    map[*tools.Set]bool
	closed  bool
}

// New makes a Servers without any. It starts nothing.
func New(o Options) *Servers {
	if o.Starts == nil {
		o.Starts = make(chan struct{}, 4)
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Log.GetSink() == nil {
		o.Log = logr.Discard()
	}
	v := &Servers{o: o, servers: map[string]*server{}, sets: map[*tools.Set]bool{}}
	v.ctx, v.stop = context.WithCancel(context.Background())
	return v
}

// Sync makes the servers be those that are declared, with their values expanded. It never waits for one: each is
// connected in the background, a changed one again after the calls that run on it, and an unchanged one is left alone.
// dir is where local servers run. off says why a server is not to be connected, or "".
func (v *Servers) Sync(want []Server, dir string, off func(Server) string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	names := make([]string, 0, len(want))
	for _, w := range want {
		names = append(names, w.Name)
	}
	toolWords := words(names)
	for _, w := range want {
		s := v.servers[w.Name]
		d := declared{Server: w, dir: dir, off: off(w)}
		if s == nil {
			v.servers[w.Name] = v.start(d, toolWords[w.Name])
			continue
		}
		back := s.declared().removed
		s.declare(d)
		s.rename(toolWords[w.Name])
		if back {
			// It may never have noticed that it was gone.
			for set := range v.sets {
				s.offerIn(set)
			}
		}
	}
	for name, s := range v.servers {
		if !slices.Contains(names, name) {
			s.declare(declared{removed: true, off: errGone.Error()})
			v.withdraw(name)
		}
	}
}

// start begins looking after a server; v.mu is held.
func (v *Servers) start(d declared, toolWord string) *server {
	s := &server{v: v, name: d.Name, want: d, word: toolWord, kick: make(chan struct{}, 1),
		gone: make(chan struct{}), moved: make(chan struct{}), status: status{phase: PhaseConnecting, since: v.o.Clock.Now()}}
	v.running.Go(func() { s.run(v.ctx) })
	return s
}

// forget takes a server that is not declared any more out, unless it has been declared again.
func (v *Servers) forget(s *server) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !s.declared().removed {
		return false
	}
	delete(v.servers, s.name)
	return true
}

// withdraw takes the tools of a server out of every set; v.mu is held.
func (v *Servers) withdraw(name string) {
	for set := range v.sets {
		_ = set.Replace(tools.ServerToolset(name), nil) // nothing to refuse
	}
}

// Attach offers the servers' tools in a set, now and as they change, until detach is called.
func (v *Servers) Attach(set *tools.Set) (detach func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sets[set] = true
	for _, s := range v.servers {
		if !s.declared().removed {
			s.offerIn(set)
		}
	}
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.sets, set)
	}
}

func (v *Servers) all() []*server {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := slices.SortedFunc(maps.Values(v.servers), func(a, b *server) int { return strings.Compare(a.name, b.name) })
	return slices.DeleteFunc(list, func(s *server) bool { return s.declared().removed })
}

// List tells how the servers are, sorted by name.
func (v *Servers) List() []tools.ServerInfo {
	out := []tools.ServerInfo{}
	for _, s := range v.all() {
		st, offer := s.snapshot()
		info := tools.ServerInfo{Name: s.name, State: string(st.phase), Why: st.why, Since: st.since.UTC(), Notes: offer.notes, Tools: len(offer.tools)}
		if !st.next.IsZero() {
			info.NextAttempt = st.next.UTC()
		}
		out = append(out, info)
	}
	return out
}

// Close ends every connection with everything that belongs to it, and waits until they are gone or ctx ends.
func (v *Servers) Close(ctx context.Context) error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.stop()
	gone := make(chan struct{})
	go func() {
		v.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("MCP servers do not end: %w", context.Cause(ctx))
	}
}

var errGone = errors.New("it is not declared any more")
