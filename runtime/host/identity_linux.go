package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of times in /proc/<pid>/stat. The kernel fixes it at 100 in its user-space interface on every
// architecture Go runs on, whatever the scheduler's own tick is.
const userHZ = 100

// Observe asks the kernel about a pid. It never fails: what cannot be learnt stays unknown.
// Implements G-212.
func Observe(pid int) Observation {
	if pid < 1 {
		return Observation{State: Dead}
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Observation{State: existence(pid, err), BootID: bootID()}
	}
	stat, err := parseProcStat(raw)
	if err != nil {
		return Observation{State: Unknown, BootID: bootID()}
	}
	seen := Observation{State: Alive, StartTime: stat.startTicks, BootID: bootID()}
	if stat.state == 'Z' || stat.state == 'X' || stat.state == 'x' {
		seen.State = Dead
	}
	if boot, err := bootTime(); err == nil {
		seen.CreateTime = createTime(boot, stat.startTicks)
	}
	return seen
}

// existence settles a pid whose stat file could not be read: /proc may be hidden from us while the process runs.
func existence(pid int, readErr error) Liveness {
	if !errors.Is(readErr, fs.ErrNotExist) && !errors.Is(readErr, unix.ESRCH) {
		return Unknown
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return Dead
	}
	return Unknown
}

// createTime is the only place that turns ticks since boot into a time of day; every record this package writes and
// every comparison it makes goes through it. bootSeconds is seconds since the epoch; so is the result.
func createTime(bootSeconds, startTicks int64) float64 {
	return float64(bootSeconds) + float64(startTicks)/userHZ
}

type procStat struct {
	state      byte
	startTicks int64
}

// parseProcStat reads fields 3 and 22 of /proc/<pid>/stat. The command name in field 2 may contain spaces and
// parentheses, so fields are counted from the last closing one.
func parseProcStat(raw []byte) (procStat, error) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return procStat{}, errors.New("process stat line has no command name")
	}
	fields := strings.Fields(string(raw[end+1:]))
	const startField = 22 - 3
	if len(fields) <= startField || len(fields[0]) != 1 {
		return procStat{}, fmt.Errorf("process stat line has %d fields after the command name", len(fields))
	}
	ticks, err := strconv.ParseInt(fields[startField], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("process start time: %w", err)
	}
	return procStat{state: fields[0][0], startTicks: ticks}, nil
}

// bootTime returns the boot time in seconds since the epoch as the kernel reports it.
func bootTime() (int64, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "btime "); ok {
			return strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return 0, errors.New("/proc/stat has no btime line")
}

func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
