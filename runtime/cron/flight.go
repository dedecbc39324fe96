package cron

import (
	"context"
	"slices"
	"sync"
	"time"
)

// flight is a job between hand-out and the end of its run.
type flight struct {
	firing
	since  time.Time
	execID string
	cancel context.CancelFunc

	mu          sync.Mutex
	claim       *Claim
	interrupted bool
	cutOff      bool // its claim was lost and its worker told to end
	place       sync.Once
}

// cut tells the worker to end because the run is not its own any more.
func (f *flight) cut() {
	f.mu.Lock()
	f.cutOff = true
	f.mu.Unlock()
	f.cancel()
}

func (f *flight) wasCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cutOff
}

func (f *flight) setClaim(c *Claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claim = c
}

// interrupt marks the run as cut off and returns its claim. What the run says afterwards counts for nothing.
func (f *flight) interrupt() *Claim {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupted = true
	return f.claim
}

func (f *flight) wasInterrupted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.interrupted
}

// flights are the jobs of one profile that this process has in flight. The table is a field of the profile's scheduler:
// a job of the same name in another profile cannot be mistaken for it, and a worker that ends on any goroutine gives back
// exactly what it took.
//
// Implements C-173, C-174, T-151 to T-153.
type flights struct {
	mu   sync.Mutex
	byID map[string]*flight
}

// add registers a flight unless the job has one.
func (fs *flights) add(f *flight) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byID[f.id] != nil {
		return false
	}
	if fs.byID == nil {
		fs.byID = map[string]*flight{}
	}
	fs.byID[f.id] = f
	return true
}

// drop gives the job free if f is still its flight.
func (fs *flights) drop(f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.byID[f.id] == f {
		delete(fs.byID, f.id)
	}
}

func (fs *flights) running(id string) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.byID[id] != nil
}

func (fs *flights) all() []*flight {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	var out []*flight
	for _, f := range fs.byID {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *flight) int { return a.since.Compare(b.since) })
	return out
}

// catchUps counts missed occurrences that are under way.
func (fs *flights) catchUps() int {
	n := 0
	for _, f := range fs.all() {
		if f.kind == CatchUp {
			n++
		}
	}
	return n
}
