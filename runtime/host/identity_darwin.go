package host

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// zombieState is SZOMB in <sys/proc.h>.
const zombieState = 5

// Observe asks the kernel about a pid. It never fails: what cannot be learnt stays unknown.
// Implements G-212.
func Observe(pid int) Observation {
	if pid < 1 {
		return Observation{State: Dead}
	}
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return Observation{State: Dead}
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return Observation{State: Unknown}
	}
	seen := Observation{
		State:      Alive,
		StartTime:  startCentiseconds(info.Proc.P_starttime),
		CreateTime: float64(info.Proc.P_starttime.Sec) + float64(info.Proc.P_starttime.Usec)/1e6,
		BootID:     bootID(),
	}
	if info.Proc.P_stat == zombieState {
		seen.State = Dead
	}
	return seen
}

func startCentiseconds(t unix.Timeval) int64 { return t.Sec*100 + int64(t.Usec)/10_000 }

// bootID uses the boot time, which is fixed for a boot; there is no random identifier to read.
func bootID() string {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(boot.Sec, 10)
}
