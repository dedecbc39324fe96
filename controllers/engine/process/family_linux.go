package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"hermes.dev/hermes/internal/orphan"
	"hermes.dev/hermes/runtime/host"
)

// familyOf lists the living descendants of a process without reading the whole
// process table. A gateway is the parent of its orphans, so nothing below it is
// missed, whatever it did to its session and environment.
func familyOf(pid int) map[host.ProcessID]bool {
	family := map[host.ProcessID]bool{}
	for next := childrenOf(pid); len(next) > 0; {
		child := next[len(next)-1]
		next = next[:len(next)-1]
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(child), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parseStat(raw); ok && !p.Zombie && !family[p.id()] {
			family[p.id()] = true
			next = append(next, childrenOf(child)...)
		}
	}
	return family
}

func childrenOf(pid int) []int {
	lists, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range bytes.FieldsSeq(raw) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// runs are the gateways that are held, by pid, with their run ids.
type runs map[int]string

// strays returns the test for a living child of this process that nobody here
// started, once the given gateway has ended: a gateway that lives is the parent of
// its own orphans. Implements G9.
func (r *reaper) strays(ended int) func(procEntry) bool {
	self := os.Getpid()
	ownSession, _ := unix.Getsid(0)
	return func(p procEntry) bool {
		if p.PPID != self || p.Zombie || p.SID == ownSession {
			return false
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return !orphan.Held()[p.PID] && r.mains.kin(p, ended) == ""
	}
}

func (m runs) has(pid int) bool { _, held := m[pid]; return held }

// kin names the held gateway, other than the ended one, that a process shows to belong to; "" when none.
func (m runs) kin(p procEntry, ended int) (runID string) {
	for _, pid := range []int{p.PID, p.SID, p.PGID} {
		if id, held := m[pid]; held && pid != ended {
			return id
		}
	}
	for pid, id := range m {
		if pid != ended && slices.Contains(readNulList(p.PID, "environ"), runIDVariable+"="+id) {
			return id
		}
	}
	return ""
}
