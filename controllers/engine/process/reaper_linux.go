package process

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

// strangerPatience is how long a zombie of unknown origin must stay before it
// is collected: whoever started it with os/exec and waits would have collected
// it at once.
const strangerPatience = 10 * time.Second

// reaper collects orphans of gateway trees, which become children of this
// process because it is a subreaper. It must never take an exit status that
// somebody else waits for.
type reaper struct {
	clk clock.WithTicker

	mu sync.Mutex
	// mains are the gateways that supervisors hold; they collect those themselves.
	mains runs
	// strangers are zombies of unknown origin and when they were first seen.
	strangers map[host.ProcessID]time.Time
}

func newReaper(clk clock.WithTicker) *reaper {
	return &reaper{clk: clk, mains: runs{}, strangers: map[host.ProcessID]time.Time{}}
}

// own runs start, which creates a child, and remembers its pid before the reaper can look at it.
func (r *reaper) own(runID string, start func() (pid int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := start()
	if err == nil {
		r.mains[pid] = runID
	}
	return err
}

// hold remembers an adopted gateway.
func (r *reaper) hold(pid int, runID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mains[pid] = runID
}

// forget is called once a gateway and its tree are gone and collected.
func (r *reaper) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mains, pid)
}

// run collects on every SIGCHLD until ctx ends. It wakes by itself only while a zombie of unknown origin is there.
func (r *reaper) run(ctx context.Context) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	defer signal.Stop(children)
	for {
		var again <-chan time.Time
		stop := func() bool { return false }
		if r.sweep() > 0 {
			timer := r.clk.NewTimer(strangerPatience)
			again, stop = timer.C(), timer.Stop
		}
		select {
		case <-children:
		case <-again:
		case <-ctx.Done():
			stop()
			return
		}
		stop()
	}
}

// sweep collects what is ours and returns how many strangers are being watched.
func (r *reaper) sweep() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	self, now := os.Getpid(), r.clk.Now()
	ownSession, _ := unix.Getsid(0)
	still := map[host.ProcessID]time.Time{}
	for _, p := range listProcesses() {
		if p.PPID != self || !p.Zombie {
			continue
		}
		since, known := r.strangers[p.id()]
		if !known {
			since = now
		}
		switch judgeZombie(p, ownSession, r.mains, now.Sub(since)) {
		case zombieCollect:
			orphan.Collect(p.PID)
		case zombieWatch:
			still[p.id()] = since
		}
	}
	r.strangers = still
	return len(still)
}

type zombieVerdict int

const (
	// zombieLeave: somebody else waits for it.
	zombieLeave zombieVerdict = iota
	// zombieWatch: look again later.
	zombieWatch
	// zombieCollect: it is an orphan of one of our trees.
	zombieCollect
)

// judgeZombie decides about a zombie child that has been seen for the given
// time. What this program starts itself runs in its own session or is a
// gateway; everything else was inherited. Implements G9.
func judgeZombie(p procEntry, ownSession int, mains runs, seen time.Duration) zombieVerdict {
	switch {
	case mains.has(p.PID) || p.SID == ownSession:
		return zombieLeave
	case mains.has(p.SID) || mains.has(p.PGID):
		return zombieCollect
	case seen >= strangerPatience:
		return zombieCollect
	default:
		return zombieWatch
	}
}
