package tools

import (
	"sync"
	"time"
)

const (
	// checkTTL is how long an answer of a tool's check is reused.
	checkTTL = 30 * time.Second
	// checkGrace is how long after a good answer a bad one is taken for a flake.
	checkGrace = 60 * time.Second
)

// availability remembers the answers of one tool's check in one Set, so that
// two homes never share one (T8).
type availability struct {
	mu    sync.Mutex
	state checkState
}

type checkState struct {
	// cached says that answer, given at the time at, may be reused.
	cached, answer bool
	at             time.Time
	// good is when the check last said yes; zero means never.
	good time.Time
}

// reuse gives the cached answer while it is fresh.
func (c checkState) reuse(now time.Time) (answer, ok bool) {
	return c.answer, c.cached && now.Sub(c.at) < checkTTL
}

// next takes a fresh answer of the check. A no shortly after a yes is served
// as a yes and not cached, so that a flaking probe does not strip tools from
// the prompt.
//
// Implements T8.
func (c checkState) next(now time.Time, answer bool) (checkState, bool) {
	switch {
	case answer:
		return checkState{cached: true, answer: true, at: now, good: now}, true
	case !c.good.IsZero() && now.Sub(c.good) < checkGrace:
		return checkState{good: c.good}, true
	}
	return checkState{cached: true, at: now, good: c.good}, false
}

// ask answers from memory or by the check. The check runs outside the lock:
// it may be slow, and it may panic.
func (a *availability) ask(now time.Time, check func() bool) bool {
	a.mu.Lock()
	answer, ok := a.state.reuse(now)
	a.mu.Unlock()
	if ok {
		return answer
	}
	fresh := check()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state, answer = a.state.next(now, fresh)
	return answer
}
