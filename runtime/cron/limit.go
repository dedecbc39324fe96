package cron

import (
	"context"
	"slices"
	"sync"
)

// limiter bounds how many runs of one profile go on at once, first come first served. Its bound may change at any time.
//
// Implements C-175.
type limiter struct {
	mu      sync.Mutex
	bound   int // below 1: none
	taken   int
	waiting []chan struct{}
}

// set changes the bound. Runs beyond a lower one go on.
func (l *limiter) set(bound int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bound = bound
	l.grant()
}

// grant hands free places to who waits. The caller holds mu.
func (l *limiter) grant() {
	for len(l.waiting) > 0 && (l.bound < 1 || l.taken < l.bound) {
		l.taken++
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// acquire waits for a place.
func (l *limiter) acquire(ctx context.Context) error {
	l.mu.Lock()
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.grant()
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else { // the place came at the same moment
		l.taken--
		l.grant()
	}
	return ctx.Err()
}

func (l *limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken--
	l.grant()
}
