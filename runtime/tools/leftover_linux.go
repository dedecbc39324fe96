package tools

import (
	"os"
	"strconv"
	"strings"
)

// birthOf is when a living process began, as ticks of a boot that has a name of its own; "" when there is none.
func birthOf(pid int) string {
	p, err := readProcess(pid)
	boot, bootErr := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || bootErr != nil || p.state == 'Z' || p.state == 'X' {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + strconv.FormatUint(p.start, 10)
}

// endFamily ends a process with its session and its group, and returns how many that were.
func endFamily(leader int) int {
	first, err := readProcess(leader)
	if err != nil {
		return 0
	}
	ended := map[int]bool{}
	for range rounds {
		found := false
		for _, p := range processes(first.start) {
			member := p.pid == leader && p.start == first.start || p.session == leader || p.group == leader
			if member && p.state != 'Z' && p.state != 'X' {
				found, ended[p.pid] = true, true
				killProcess(p)
			}
		}
		if !found {
			break
		}
	}
	return len(ended)
}
