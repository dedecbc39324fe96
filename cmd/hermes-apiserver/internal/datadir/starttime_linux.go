package datadir

import (
	"os"
	"strconv"
	"strings"
)

// startTime reads field 22 of /proc/self/stat. The command name (field 2) may hold spaces and
// parentheses, so fields are counted from the last closing one.
func startTime() uint64 {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0
	}
	n, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return n
}
