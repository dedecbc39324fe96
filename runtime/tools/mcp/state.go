package mcp

import (
	"slices"
	"time"
)

// Phase is where a server is in its life.
type Phase string

// The phases of a server. Their texts are what people see.
const (
	PhaseOff        Phase = "off"     // disabled, or its toolset is not selected
	PhaseInvalid    Phase = "invalid" // its declaration cannot be used; only a change of it helps
	PhaseConnecting Phase = "connecting"
	PhaseConnected  Phase = "connected"
	// PhaseAsleep is a local server that was ended because nobody used it; the next call starts it.
	PhaseAsleep Phase = "asleep"
	// PhaseLost failed or ended; it is connected again at the next attempt.
	PhaseLost Phase = "lost"
)

// lossGrace is how long the tools of a lost server stay in the list (T8): a restart changes no prompt.
const lossGrace = 60 * time.Second

// status is what is known of a server's connection.
type status struct {
	phase Phase
	since time.Time
	why   string
	// next is when connecting is tried again.
	next time.Time
	// lost is when a connection that had been made went away; zero while there is one, and before the first.
	lost time.Time
	// known says that the server's tools are known.
	known bool
}

// toolsAvailable is the check of a server's tools: a plain answer to whether they can, or very soon can, be called.
//
// Implements T19 with the grace of T8.
func (s status) toolsAvailable(now time.Time) bool {
	switch s.phase {
	case PhaseConnected, PhaseAsleep:
		return s.known
	case PhaseConnecting, PhaseLost:
		return s.known && !s.lost.IsZero() && now.Sub(s.lost) < lossGrace
	}
	return false
}

// troubled reports whether a person should hear of the server: a restart that takes a moment is no news.
func (s status) troubled(now time.Time) bool {
	switch s.phase {
	case PhaseInvalid:
		return true
	case PhaseConnecting, PhaseLost:
		return s.why != "" && !s.toolsAvailable(now)
	}
	return false
}

// Troubled lists the names of servers that a person should look at, sorted.
func (v *Servers) Troubled() []string {
	now := v.o.Clock.Now()
	var out []string
	for _, s := range v.all() {
		if st, _ := s.snapshot(); st.troubled(now) {
			out = append(out, s.name)
		}
	}
	slices.Sort(out)
	return out
}
