package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hermes.dev/hermes/runtime/host"
)

// procEntry is one process as /proc shows it.
type procEntry struct {
	PID, PPID, PGID, SID int
	Zombie               bool
	// StartTicks since boot.
	StartTicks int64
}

// id is the identity of the entry's incarnation.
func (p procEntry) id() host.ProcessID { return host.ProcessID{PID: p.PID, StartTime: p.StartTicks} }

// listProcesses reads every process of this machine that /proc shows.
func listProcesses() []procEntry {
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	entries := make([]procEntry, 0, len(names))
	for _, name := range names {
		raw, err := os.ReadFile(name + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		if p, ok := parseStat(raw); ok {
			entries = append(entries, p)
		}
	}
	return entries
}

// parseStat reads one line of /proc/<pid>/stat. The command name may contain
// spaces and parentheses, so fields count from the last closing one.
func parseStat(raw []byte) (procEntry, bool) {
	open, end := bytes.IndexByte(raw, ' '), bytes.LastIndexByte(raw, ')')
	if open < 0 || end < open {
		return procEntry{}, false
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 20 {
		return procEntry{}, false
	}
	var p procEntry
	var errs [5]error
	p.PID, errs[0] = strconv.Atoi(string(raw[:open]))
	p.PPID, errs[1] = strconv.Atoi(fields[1])
	p.PGID, errs[2] = strconv.Atoi(fields[2])
	p.SID, errs[3] = strconv.Atoi(fields[3])
	p.StartTicks, errs[4] = strconv.ParseInt(fields[19], 10, 64)
	for _, err := range errs {
		if err != nil {
			return procEntry{}, false
		}
	}
	p.Zombie = fields[0] == "Z" || fields[0] == "X"
	return p, true
}

// readNulList reads a NUL-separated file of /proc (cmdline, environ); nil when it cannot be read.
func readNulList(pid int, name string) []string {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil || len(raw) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
}

// commandLine of a process, nil when it is gone or hidden.
func commandLine(pid int) []string { return readNulList(pid, "cmdline") }

// hasRunID reports whether a process was started with this run's mark in its environment.
func hasRunID(pid int, runID string) bool {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	mark := []byte(runIDVariable + "=" + runID)
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		if bytes.Equal(entry, mark) {
			return true
		}
	}
	return false
}

// executable of a process, "" when unknown. A binary that was replaced on disk keeps its name.
func executable(pid int) string {
	exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(exe, " (deleted)")
}
