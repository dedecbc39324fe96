package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

// tree names everything that belongs to one run.
type tree struct {
	// Main process; its pid is also the id of the run's session and process group. Zero when it is not known.
	Main host.ProcessID
	// RunID is in the environment of what the gateway started.
	RunID string
	// Cgroup directory, "" when there is none.
	Cgroup string
	// Family is descendants of the main process that were seen while it lived.
	Family map[host.ProcessID]bool
	// Stray tells whether a process came to this one as an orphan of a gateway that has ended; nil knows none.
	Stray func(procEntry) bool
}

// traits are what links a process to a tree beyond its own entry.
type traits struct {
	// Descends from the main process.
	Descends bool
	// Marked with the run id in its environment.
	Marked bool
	// Seen below the main process before.
	Seen bool
	// Stray: an orphan of a gateway that has ended.
	Stray bool
}

// belongs decides whether a process is part of the tree. endedBy, in ticks since
// boot, is when the main process's number became free, 0 while it is taken: what
// started later only shares a recycled number. Implements G9.
func (t tree) belongs(p procEntry, has traits, endedBy int64) bool {
	switch {
	case p.Zombie:
		return false
	case has.Descends || has.Marked || has.Seen || p.id() == t.Main:
		return true
	case has.Stray && t.Main.PID > 0 && p.StartTicks >= t.Main.StartTime:
		return true
	case t.Main.PID <= 0 || (p.SID != t.Main.PID && p.PGID != t.Main.PID):
		return false
	default:
		return p.StartTicks >= t.Main.StartTime && (endedBy == 0 || p.StartTicks <= endedBy)
	}
}

// members lists the living processes of the tree, and whether the main process still has its number.
func (t tree) members(endedBy int64) (found []procEntry, mainThere bool) {
	all := listProcesses()
	parents := make(map[int]int, len(all))
	mainLives := false
	for _, p := range all {
		parents[p.PID] = p.PPID
		mainThere = mainThere || p.id() == t.Main
		mainLives = mainLives || p.id() == t.Main && !p.Zombie
	}
	self := os.Getpid()
	for _, p := range all {
		if p.PID == self {
			continue
		}
		has := traits{
			Descends: mainThere && descends(p.PID, t.Main.PID, parents),
			Marked:   !p.Zombie && hasRunID(p.PID, t.RunID),
			Seen:     t.Family[p.id()],
			// A gateway that lives has its orphans itself.
			Stray: t.Stray != nil && !mainLives && t.Stray(p),
		}
		if t.belongs(p, has, endedBy) {
			found = append(found, p)
		}
	}
	return found, mainThere
}

// descends follows parents upwards; the map is a snapshot and may be torn, so the way is bounded.
func descends(pid, ancestor int, parents map[int]int) bool {
	for range len(parents) {
		parent, ok := parents[pid]
		if !ok || pid <= 1 {
			return false
		}
		if parent == ancestor {
			return true
		}
		pid = parent
	}
	return false
}

// maxKillRounds bounds the rounds against a tree that forks while it is killed.
const maxKillRounds = 100

// kill ends every process of the tree and waits until none is left, at most
// killWait. Orphans that became our children are collected. Implements G9.
func (t tree) kill(ctx context.Context, clk clock.Clock) error {
	deadline := clk.NewTimer(killWait)
	defer deadline.Stop()
	var endedBy int64
	for range maxKillRounds {
		killCgroup(t.Cgroup)
		members, mainThere := t.members(endedBy)
		if !mainThere && endedBy == 0 {
			endedBy = ticksNow()
			members, _ = t.members(endedBy)
		}
		if len(members) == 0 {
			return nil
		}
		if err := t.killRound(ctx, members, deadline.C()); err != nil {
			return err
		}
	}
	return fmt.Errorf("the processes of run %s keep forking: stop them by hand (they carry %s=%s)", t.RunID, runIDVariable, t.RunID)
}

// killRound signals all members first and waits for each after that, so that none can outlive the others by forking on.
func (t tree) killRound(ctx context.Context, members []procEntry, deadline <-chan time.Time) error {
	var held []*handle
	defer func() {
		for _, h := range held {
			h.close()
		}
	}()
	for _, p := range members {
		h, err := openHandle(p.id())
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil {
			return err
		}
		held = append(held, h)
		if err := h.signal(unix.SIGKILL); err != nil {
			return err
		}
	}
	for _, h := range held {
		select {
		case <-h.ended():
		case <-deadline:
			return fmt.Errorf("pid %d does not die of SIGKILL: it waits inside the kernel", h.id.PID)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// All have ended, so whoever was a child of another one is our child now (we are the subreaper). The main process is
	// left to its supervisor: as long as it is a zombie nothing else can have its number.
	for _, h := range held {
		if h.id != t.Main {
			orphan.Collect(h.id.PID)
		}
	}
	return nil
}

// ticksNow is the present in the unit of process start times.
func ticksNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return ts.Sec*userHZ + ts.Nsec/(int64(time.Second)/userHZ)
}
