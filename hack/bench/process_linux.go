package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTicks is the unit of processor times in /proc; Linux fixes it at 100 for user space.
const clockTicks = 100

// find returns the process whose command line has all the words, or 0.
func find(words ...string) int {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is sound
next:
	for _, path := range dirs {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		line := string(bytes.ReplaceAll(raw, []byte{0}, []byte{' '}))
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue next
			}
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path))) // the pattern has digits only
		return pid
	}
	return 0
}

// cpuOf is the processor time that a process has used.
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(raw), ") ") // the name in brackets may hold spaces
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, fmt.Errorf("unreadable /proc/%d/stat", pid)
	}
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}

// memory is the resident memory of a process in bytes. Anonymous is its own: the rest are pages of the
// program file, which processes share and the kernel may drop.
type memory struct{ total, anonymous int64 }

func memoryOf(pid int) (memory, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	var m memory
	for line := range strings.Lines(string(raw)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			m.total = n << 10
		case "RssAnon:":
			m.anonymous = n << 10
		}
	}
	if m.total == 0 {
		return m, fmt.Errorf("process %d has no memory: it ended", pid)
	}
	return m, nil
}
