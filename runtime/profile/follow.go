package profile

import (
	"sync"

	"hermes.dev/hermes/runtime/agent"
)

// followers are those who watch a session for turns that nobody who watches has begun.
type followers struct {
	mu   sync.Mutex
	next int
	by   map[string]map[int]agent.Events
}

// Follow has events told about every turn that the runtime itself begins in a session, such as the one that the end of
// a delegation brings. They come on the goroutine of that turn, one at a time for one turn. stop ends it.
func (r *Runtime) Follow(sessionID string, events agent.Events) (stop func()) {
	f := &r.followers
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]map[int]agent.Events{}
	}
	if f.by[sessionID] == nil {
		f.by[sessionID] = map[int]agent.Events{}
	}
	key := f.next
	f.next++
	f.by[sessionID][key] = events
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.by[sessionID], key)
		if len(f.by[sessionID]) == 0 {
			delete(f.by, sessionID)
		}
	}
}

// tellFollowers is the events of a turn that the runtime begins in a session.
func (r *Runtime) tellFollowers(sessionID string) agent.Events {
	return func(e agent.Event) {
		f := &r.followers
		f.mu.Lock()
		var all []agent.Events
		for _, events := range f.by[sessionID] {
			all = append(all, events)
		}
		f.mu.Unlock()
		for _, events := range all {
			events(e)
		}
	}
}

// Closing is closed when the runtime begins to close.
func (r *Runtime) Closing() <-chan struct{} { return r.closing.Done() }
