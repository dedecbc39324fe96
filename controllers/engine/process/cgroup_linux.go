package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// DelegatedCgroup finds the cgroup v2 directory below which this process may
// make groups with memory limits: its own, when it was delegated (systemd's
// Delegate=memory, or a container that may write its group). It moves this
// process into a leaf of its own, as the kernel demands before controllers can
// be passed on. The error says why there is none; without one gateways run with
// a soft limit only. Call it once, from the command that owns this process.
func DelegatedCgroup() (string, error) {
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("find own cgroup: %w", err)
	}
	path, ok := unifiedPath(string(membership))
	if !ok {
		return "", errors.New("this machine has no cgroup v2")
	}
	dir := filepath.Join("/sys/fs/cgroup", path)
	if !hasController(dir, "memory") {
		return "", fmt.Errorf("cgroup %s has no memory controller (delegate it: Delegate=memory in the unit)", dir)
	}
	leaf := filepath.Join(dir, "operator")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cgroup is not delegated to this user: %w", err)
	}
	if err := writeControl(leaf, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return "", err
	}
	if err := writeControl(dir, "cgroup.subtree_control", "+memory"); err != nil {
		return "", err
	}
	return dir, nil
}

// unifiedPath finds the v2 group in /proc/self/cgroup.
func unifiedPath(membership string) (string, bool) {
	for line := range strings.Lines(membership) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path, true
		}
	}
	return "", false
}

func hasController(dir, name string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(string(raw)), name)
}

func writeControl(dir, file, value string) error {
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", file, value, err)
	}
	return nil
}

// makeCgroup creates the group of one run below parent and limits its memory:
// memory.high first, so that the gateway is slowed and can save memory before
// memory.max ends it. Implements guarantee G10.
func makeCgroup(parent, name string, limit int64) (dir string, err error) {
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make a cgroup: %w", err)
	}
	if limit > 0 {
		err = errors.Join(
			writeControl(dir, "memory.high", strconv.FormatInt(softLimit(limit), 10)),
			writeControl(dir, "memory.max", strconv.FormatInt(limit, 10)),
		)
	}
	if err != nil {
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
