package profile

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/runtime/store"
)

// lazyStore opens a profile's session store on first use and closes it after it
// was idle for a while, so that an idle profile costs no memory.
type lazyStore struct {
	path  string
	idle  time.Duration
	clock clock.WithDelayedExecution
	log   logr.Logger
	// inventory is shared with the other stores of the process; nil means this store looks for itself.
	inventory *store.Inventory

	probe  sync.Once
	mu     sync.Mutex
	open   *store.Store
	users  int
	timer  clock.Timer
	closed bool
	// unused is closed when the last user leaves, for whoever waits for that; nil when nobody does.
	unused chan struct{}
	// drained is closed when the last user of a closed store has left.
	drained chan struct{}
}

func newLazyStore(path string, idle time.Duration, clk clock.WithDelayedExecution, log logr.Logger) *lazyStore {
	return &lazyStore{path: path, idle: idle, clock: clk, log: log, drained: make(chan struct{})}
}

// acquire returns the open store, opening it if needed. release must be called once.
func (l *lazyStore) acquire(ctx context.Context) (s *store.Store, release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, store.ErrClosed
	}
	if l.open == nil {
		l.probe.Do(l.mentionFilesystem)
		opened, err := openStore(ctx, l.path, store.Options{Log: l.log, Clock: l.clock, Inventory: l.inventory})
		if err != nil {
			return nil, nil, err
		}
		l.open = opened
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.users++
	var once sync.Once
	return l.open, func() { once.Do(l.release) }, nil
}

// mentionFilesystem says once when the store is where stores were seen damaged.
func (l *lazyStore) mentionFilesystem() {
	if kind, risky := store.ProbeFilesystem(filepath.Dir(l.path)); risky {
		l.log.Info("session stores were seen damaged on this kind of filesystem: keep the home on a local disk", "filesystem", kind, "store", l.path)
	}
}

func (l *lazyStore) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	if l.users > 0 {
		return
	}
	if l.unused != nil {
		close(l.unused)
		l.unused = nil
	}
	if l.closed {
		close(l.drained)
		return
	}
	l.timer = l.clock.AfterFunc(l.idle, l.closeIdle)
}

// closeIdle closes the store when its idle time is over.
func (l *lazyStore) closeIdle() {
	defer func() {
		if p := recover(); p != nil { // a timer's goroutine: nobody above would catch it
			l.log.Error(fmt.Errorf("%v", p), "close idle store")
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil // it has fired
	l.closeLocked()
}

// closeUnused closes the store now unless somebody uses it.
func (l *lazyStore) closeUnused() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeLocked()
}

func (l *lazyStore) closeLocked() {
	if l.users > 0 || l.open == nil || l.closed || l.open.Stuck() {
		return // a stuck one goes on saying why instead of being in its own way
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	s := l.open
	l.open, l.timer = nil, nil
	if err := s.Close(); err != nil {
		l.log.Error(err, "close idle store")
	}
}

// isOpen reports whether SQLite has the file open now.
func (l *lazyStore) isOpen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open != nil
}

// close lets no new user in, waits for those inside, and closes the file.
func (l *lazyStore) close(ctx context.Context) error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	busy := l.users > 0
	l.mu.Unlock()
	if busy {
		select {
		case <-l.drained:
		case <-ctx.Done():
			// Closing under a user is safe: its next call fails with store.ErrClosed.
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return nil
	}
	s := l.open
	l.open = nil
	return s.Close()
}
