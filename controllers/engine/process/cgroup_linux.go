package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

func writeControl(dir, file, value string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", file, value, err)
	}
	return nil
}

// limits of one gateway's whole process tree; 0 leaves what the kernel gives.
type limits struct {
	// Memory in bytes.
	Memory int64
	// CPUWeight among the groups beside it, 1 to 10000; the kernel gives 100.
	CPUWeight int
	// Tasks is how many processes and threads there may be at once.
	Tasks int
}

const (
	// gatewayWeight is half of what a group has by itself: when the CPU is short, the operator, the control plane and
	// what a person does come before the commands of agents. It takes nothing while the CPU is idle.
	gatewayWeight = 50
	// gatewayTasks ends a fork bomb long before the machine's own limit (systemd gives a user about 10,000), and leaves
	// room for a thousand commands at once.
	gatewayTasks = 4096
)

// limitsFor are the limits of a gateway below parent: what is declared, defaults where the Gateway has no field, and
// nothing that parent does not pass on.
func limitsFor(parent string, memory int64) limits {
	var l limits
	if passesOn(parent, controllerMemory) {
		l.Memory = memory
	}
	if passesOn(parent, controllerCPU) {
		l.CPUWeight = gatewayWeight
	}
	if passesOn(parent, controllerPids) {
		l.Tasks = gatewayTasks
	}
	return l
}

// makeCgroup creates the group of one run below parent and limits it:
// memory.high first, so that the gateway is slowed and can save memory before
// memory.max ends it. Implements guarantee G10.
func makeCgroup(parent, name string, l limits) (dir string, err error) {
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a cgroup: %w", err)
	}
	var errs []error
	set := func(file string, value int64) {
		if value > 0 {
			errs = append(errs, writeControl(dir, file, strconv.FormatInt(value, 10)))
		}
	}
	set("memory.high", softLimit(l.Memory))
	set("memory.max", l.Memory)
	set("cpu.weight", int64(l.CPUWeight))
	set("pids.max", int64(l.Tasks))
	if err := errors.Join(errs...); err != nil {
		removeCgroup(dir)
		return "", err
	}
	return dir, nil
}

// killCgroup ends everything in a group at once; nothing can fork its way out.
func killCgroup(dir string) {
	if dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0o644)
	}
}

// removeCgroup removes a group whose processes have ended. The kernel takes the
// last of them out a moment after its end was announced, and tells by an event
// of the group.
func removeCgroup(dir string) {
	if dir == "" {
		return
	}
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if err != nil {
		_ = unix.Rmdir(dir)
		return
	}
	defer events.Close()
	const rounds, roundMillis = 20, 50
	for range rounds {
		// Reading first arms the event, so that a change between here and the wait is not missed.
		_, _ = events.ReadAt(make([]byte, 256), 0)
		if err := unix.Rmdir(dir); !errors.Is(err, unix.EBUSY) {
			return
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}, roundMillis)
	}
}

// cgroupOOMKills counts the processes of a group that the kernel ended for memory.
func cgroupOOMKills(dir string) int64 {
	if dir == "" {
		return 0
	}
	raw, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if err != nil {
		return 0
	}
	return counter(raw, "oom_kill")
}
