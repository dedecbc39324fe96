package tools

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/internal/orphan"
)

// NewOrphans makes this process the parent of its descendants' orphans. The
// error says that orphans cannot be found here; nil *Orphans then does without.
func NewOrphans() (*Orphans, error) {
	if err := orphan.Probe(); err != nil {
		return nil, err
	}
	if err := orphan.Adopt(); err != nil {
		return nil, err
	}
	return &Orphans{calls: map[*callSpan]struct{}{}, claims: map[*Claim]struct{}{}}, nil
}

// Run collects orphans that end by themselves, until ctx ends. It never takes an
// exit status that somebody waits for.
func (o *Orphans) Run(ctx context.Context) {
	if o == nil {
		return
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		o.collect()
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// collect takes the zombies nobody waits for.
func (o *Orphans) collect() {
	session, _ := unix.Getsid(0)
	var held map[int]bool
	for _, pid := range orphan.Children() {
		p, err := readProcess(pid)
		if err != nil || p.state != 'Z' || p.session == session {
			continue
		}
		if held == nil {
			// Looked up after the zombie was seen: whoever started it held it since before it existed.
			held = orphan.Held()
		}
		if !held[pid] {
			orphan.Collect(pid)
		}
	}
}

// escaped lists the processes of a table that hid from the call that ends now. leader is that call's command,
// which has not been waited for; when it cannot be seen to be held, nothing is judged.
func (o *Orphans) escaped(all []process, ending *callSpan, leader int, member func(process) bool) []process {
	if o == nil {
		return nil
	}
	self := os.Getpid()
	var strays []process
	for _, p := range all {
		if p.parent == self && p.state != 'Z' && p.state != 'X' && !member(p) {
			strays = append(strays, p)
		}
	}
	if len(strays) == 0 {
		return nil
	}
	session, err := unix.Getsid(0)
	held := orphan.Held()
	if err != nil || !held[leader] {
		return nil
	}
	var out []process
	for _, p := range strays {
		if o.see(p, ending, session, held).escaped() {
			out = append(out, p)
		}
	}
	return out
}

func (o *Orphans) see(p process, ending *callSpan, session int, held map[int]bool) sight {
	s := sight{OwnSession: p.session == session, Held: held[p.pid], Kin: held[p.session] || held[p.group]}
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.calls {
		if c != ending {
			s.Contested = s.Contested || c.began <= p.start
			s.Kin = s.Kin || hasMarker(p.pid, c.marker)
		}
	}
	for c := range o.claims {
		s.Kin = s.Kin || c.covers(p) || hasMarker(p.pid, c.Marker)
	}
	return s
}

// covers reports that p is the claimed process or in its session or group. A number that was given to another
// process since is neither.
func (c *Claim) covers(p process) bool {
	if p.pid == c.PID {
		return p.start == c.Start
	}
	return (p.session == c.PID || p.group == c.PID) && p.start >= c.Start
}

// EndAll ends every descendant of this process, kept or not: nothing outlives a
// gateway. Call it last, when whoever waits for a child has given up. It returns
// how many it ended and how many would not end.
func (o *Orphans) EndAll() (killed, survivors int) {
	if o == nil {
		return 0, 0
	}
	seen := map[int]uint64{}
	for range rounds {
		family := descendants()
		if survivors = len(family); survivors == 0 {
			break
		}
		for _, p := range family {
			seen[p.pid] = p.start
			killProcess(p)
		}
		o.collect()
	}
	return len(seen), survivors
}

// descendants lists the living processes below this one.
func descendants() []process {
	below := map[int]bool{os.Getpid(): true}
	all := processes(0)
	var out []process
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grown = true, true
				if p.state != 'Z' && p.state != 'X' {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// ticksNow is the present in the unit of process start times.
func ticksNow() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	const userHZ, second = 100, 1_000_000_000
	return uint64(ts.Sec*userHZ + ts.Nsec/(second/userHZ)) // never negative
}
