package llm

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// watchdogFired is the cause of a context that one of our timers ended.
type watchdogFired struct {
	code  string
	limit time.Duration
}

func (f *watchdogFired) Error() string {
	switch f.code {
	case CodeConnect:
		return fmt.Sprintf("no connection within %s", f.limit)
	case CodeFirstByteTimeout:
		return fmt.Sprintf("no answer began within %s", f.limit)
	case CodeKeepaliveOnly:
		return fmt.Sprintf("only keepalives came for %s", f.limit)
	}
	return fmt.Sprintf("the answer stopped for %s", f.limit)
}

// watchdog ends an attempt when its current phase takes too long, or when content stays away.
type watchdog struct {
	clock  clock.WithDelayedExecution
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	phase   clock.Timer
	content clock.Timer
	code    string // of the phase
	limit   time.Duration
	gen     int // a timer of an earlier phase that fires late must not end the next one
	done    bool
}

func newWatchdog(c clock.WithDelayedExecution, cancel context.CancelCauseFunc) *watchdog {
	return &watchdog{clock: c, cancel: cancel}
}

// arm starts a phase, ending the one before it.
func (w *watchdog) arm(d time.Duration, code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	w.limit = d
	if w.phase != nil && w.phase.Stop() && w.code == code {
		w.phase.Reset(d) // the common case, once per read of a stream: no allocation
		return
	}
	w.code = code
	w.gen++
	gen := w.gen
	w.phase = w.clock.AfterFunc(d, func() {
		w.mu.Lock()
		stale, limit := gen != w.gen || w.done, w.limit
		w.mu.Unlock()
		if !stale {
			w.cancel(&watchdogFired{code: code, limit: limit})
		}
	})
}

// sawContent restarts the timer of keepalive-only streams.
func (w *watchdog) sawContent(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return
	}
	if w.content != nil && w.content.Stop() {
		w.content.Reset(d)
		return
	}
	w.content = w.clock.AfterFunc(d, func() { w.cancel(&watchdogFired{code: CodeKeepaliveOnly, limit: d}) })
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, t := range []clock.Timer{w.phase, w.content} {
		if t != nil {
			t.Stop()
		}
	}
}

// watchedBody restarts the idle phase at every byte that arrives.
type watchedBody struct {
	r    io.Reader
	w    *watchdog
	idle time.Duration
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if n > 0 {
		b.w.arm(b.idle, CodeIdleTimeout)
	}
	return n, err
}
