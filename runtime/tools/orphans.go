package tools

import "sync"

// Orphans ends what a command left behind although it hid: a daemon that forked
// twice, left the session, cleared its environment and closed its output is
// known by nothing but having become a child of this process. There is one
// value per process, made by NewOrphans; the sets of all profiles share it.
//
// What was started on purpose is never touched: a child that package os holds
// and whatever Keep was told of, together with their sessions, their process
// groups and what carries their marker.
//
// Implements guarantee G9.
type Orphans struct {
	mu     sync.Mutex
	calls  map[*callSpan]struct{}
	claims map[*Claim]struct{}
}

// Claim names a process that outlives the call that started it.
type Claim struct {
	// PID and Start (kernel start time, ticks since boot) of the process; a number alone means nothing.
	PID   int
	Start uint64
	// Marker is the NAME=value in its environment that no other call has, or empty.
	Marker string
}

// callSpan is a command that runs.
type callSpan struct {
	// began is the present in ticks since boot when the command was about to start.
	began  uint64
	marker string
}

// Keep protects a process, and what shows that it belongs to it, until release
// is called. A nil Orphans protects everything.
func (o *Orphans) Keep(c Claim) (release func()) {
	if o == nil {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.claims[&c] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.claims, &c)
	}
}

// begin announces a command that is about to start.
func (o *Orphans) begin(marker string) *callSpan {
	if o == nil {
		return nil
	}
	c := &callSpan{began: ticksNow(), marker: marker}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[c] = struct{}{}
	return c
}

// end forgets a command whose processes are gone.
func (o *Orphans) end(c *callSpan) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.calls, c)
}

// sight is what can be told of a child of this process.
type sight struct {
	// OwnSession: it is in the session of this process, which no command is.
	OwnSession bool
	// Held by package os, so somebody here waits for it.
	Held bool
	// Kin: in the session or group of a held or claimed child, claimed itself, or
	// with the marker of a claim or of another running call.
	Kin bool
	// Contested: another call that still runs had begun when it started.
	Contested bool
}

// escaped decides whether a child that belongs to no known tree hid from the call
// that ends now. A contested one is left to the last of the calls that could have
// started it. Implements guarantee G9.
func (s sight) escaped() bool { return !s.OwnSession && !s.Held && !s.Kin && !s.Contested }
