package tools

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is everything one command started. A member is found by any of: the
// command's session or process group, a parent that is a member, the call's
// marker in its environment, or the command's output pipe on its standard
// output or error. A daemon that forks twice, starts a session of its own and
// clears its environment is still found by the pipe; one that also closes the
// pipe is found because it has become an orphan of this process, where Orphans
// are watched.
type tree struct {
	orphans *Orphans
	call    *callSpan
	leader  int
	marker  string
	pipe    string
	// since is the leader's kernel start time; older processes are never
	// members, which keeps the scan short.
	since uint64
	// members remembers pid and start time of what was found, to follow
	// parents across scans and to reap what has become our child.
	members map[int]uint64
}

type process struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64
}

func newTree(leader int, call *callSpan, c command, pipe *os.File) *tree {
	t := &tree{orphans: c.orphans, call: call, leader: leader, marker: c.marker, members: map[int]uint64{}}
	// Not by descriptor number: File.Fd would make the pipe blocking and so
	// deaf to deadlines.
	if info, err := pipe.Stat(); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			t.pipe = fmt.Sprintf("pipe:[%d]", st.Ino)
		}
	}
	if p, err := readProcess(leader); err == nil {
		t.members[leader], t.since = p.start, p.start
	}
	return t
}

// awaitExit returns when the command has exited, and leaves it a zombie: its
// number and its group cannot be taken by another process until Wait.
func awaitExit(cmd *exec.Cmd) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// rounds bounds the hunt for a tree that forks while it is killed.
const rounds = 100

// kill ends every member and returns how many it ended besides the leader and
// how many would not end. The leader must not have been waited for.
func (t *tree) kill() (killed, survivors int) {
	seen := map[int]uint64{}
	alive := []process(nil)
	for range rounds {
		_ = unix.Kill(-t.leader, unix.SIGKILL)
		alive = t.scan()
		if len(alive) == 0 {
			break
		}
		for _, p := range alive {
			if p.pid != t.leader {
				seen[p.pid] = p.start
			}
			killProcess(p)
		}
	}
	t.reap()
	return len(seen), len(alive)
}

// killProcess kills p unless its number has gone to another process, and
// waits until it is gone.
func killProcess(p process) {
	const patienceMillis = 100
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, statErr := readProcess(p.pid); statErr != nil || now.start != p.start {
		return
	}
	if err != nil {
		// No pidfd on this kernel: the start time was right a moment ago.
		_ = unix.Kill(p.pid, unix.SIGKILL)
		_, _ = unix.Poll(nil, patienceMillis/10)
		return
	}
	if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patienceMillis)
	}
}

// scan lists the living members: those with a sign of their own, then the
// children of members until there are no more, because in the process table a
// child can come before its parent.
func (t *tree) scan() []process {
	all := t.newer()
	start := make(map[int]uint64, len(all))
	for _, p := range all {
		start[p.pid] = p.start
		if t.signed(p) {
			t.members[p.pid] = p.start
		}
	}
	for _, p := range t.orphans.escaped(all, t.call, t.leader, t.has) {
		t.members[p.pid] = p.start
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			parent, ok := t.members[p.parent]
			if ok && parent == start[p.parent] && !t.has(p) {
				t.members[p.pid], grown = p.start, true
			}
		}
	}
	var out []process
	for _, p := range all {
		if t.has(p) && p.state != 'Z' && p.state != 'X' {
			out = append(out, p)
		}
	}
	return out
}

// newer reads the process table without what is older than the command.
func (t *tree) newer() []process {
	if len(t.members) == 0 {
		return nil // No procfs for us: the process group has to do.
	}
	return processes(t.since)
}

// processes reads the process table without this process and what is older than since.
func processes(since uint64) []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	self := os.Getpid()
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			continue
		}
		if p, err := readProcess(pid); err == nil && p.start >= since {
			out = append(out, p)
		}
	}
	return out
}

func (t *tree) has(p process) bool {
	start, ok := t.members[p.pid]
	return ok && start == p.start
}

// signed reports that p shows by itself that it belongs to the command.
func (t *tree) signed(p process) bool {
	return t.has(p) || p.session == t.leader || p.group == t.leader || hasMarker(p.pid, t.marker) || t.holdsPipe(p.pid)
}

// hasMarker reports that a process was started with this NAME=value in its environment.
func hasMarker(pid int, marker string) bool {
	if marker == "" {
		return false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for pair := range bytes.SplitSeq(environ, []byte{0}) {
		if string(pair) == marker {
			return true
		}
	}
	return false
}

func (t *tree) holdsPipe(pid int) bool {
	if t.pipe == "" {
		return false
	}
	for fd := 1; fd <= 2; fd++ {
		if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err == nil && link == t.pipe {
			return true
		}
	}
	return false
}

// reap collects members that have become children of this process, which
// happens when it is the init of a container or a subreaper. The leader is
// left to its exec.Cmd.
func (t *tree) reap() {
	self := os.Getpid()
	for pid, start := range t.members {
		if pid == t.leader {
			continue
		}
		if p, err := readProcess(pid); err == nil && p.parent == self && p.start == start {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// readProcess reads /proc/<pid>/stat. The name in it may contain anything, so
// fields are counted from its last closing parenthesis.
func readProcess(pid int) (process, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseStat(pid, string(raw))
}

func parseStat(pid int, stat string) (process, error) {
	// Fields after the name: state(3) ppid(4) pgrp(5) session(6) … starttime(22).
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("process %d: short stat line", pid)
	}
	p := process{pid: pid, state: fields[0][0]}
	var errs [4]error
	p.parent, errs[0] = strconv.Atoi(fields[1])
	p.group, errs[1] = strconv.Atoi(fields[2])
	p.session, errs[2] = strconv.Atoi(fields[3])
	p.start, errs[3] = strconv.ParseUint(fields[19], 10, 64)
	return p, errors.Join(errs[:]...)
}
