package process

import (
	"os"
	"strconv"
	"strings"
)

// oomKills is the machine's count of processes the kernel ended for memory, 0 when unknown.
func oomKills() int64 {
	raw, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	return counter(raw, "oom_kill")
}

// counter finds `name value` in a file of such lines, 0 when it is not there.
func counter(raw []byte, name string) int64 {
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}
