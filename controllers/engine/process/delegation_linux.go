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

// controllers of a cgroup that limit a gateway, in the order they are passed on.
const (
	controllerMemory = "memory"
	controllerCPU    = "cpu"
	controllerPids   = "pids"
)

// DelegatedCgroup finds the cgroup v2 directory below which this process may
// make groups with limits: its own, when it was delegated (systemd's Delegate=, or
// a container that may write its group). It moves this process into a leaf of its
// own, as the kernel demands before controllers can be passed on. The error says
// why there is none; without one memory has a soft limit, and CPU and tasks have
// none. Call it once, before any child is started, from the command that owns this
// process. Implements guarantee G10.
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
	if filepath.Base(dir) == operatorLeaf && isDelegated(filepath.Dir(dir), filepath.Dir(path)) {
		dir, path = filepath.Dir(dir), filepath.Dir(path) // whoever started this process has moved into its leaf before
	}
	if !isDelegated(dir, path) {
		return "", fmt.Errorf("cgroup %s is not delegated (set Delegate=yes in the unit)", dir)
	}
	if err := passOn(dir, os.Getpid()); err != nil {
		return "", err
	}
	return dir, nil
}

// operatorLeaf is the group this process moves into.
const operatorLeaf = "operator"

// isDelegated reports that whoever manages the groups of this machine left one to
// this process: systemd marks it, gives it to the user, or a container has nothing
// above it.
func isDelegated(dir, path string) bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, mark, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil || int(st.Uid) != os.Getuid() || unix.Access(dir, unix.W_OK) != nil {
		return false
	}
	// Everything belongs to root; a group of its own is only the top of a container's, which unlike the machine's top
	// has events.
	container := path == "/" && unix.Access(filepath.Join(dir, "cgroup.events"), unix.F_OK) == nil
	return st.Uid != 0 || container
}

// passOn moves a process into a leaf below dir and passes on the controllers that
// dir has. At least one is needed. A process is left where it was when none can be.
func passOn(dir string, pid int) error {
	var want []string
	for _, name := range []string{controllerMemory, controllerCPU, controllerPids} {
		if hasController(dir, name) {
			want = append(want, name)
		}
	}
	if len(want) == 0 {
		return fmt.Errorf("cgroup %s has none of the controllers memory, cpu and pids (set Delegate=yes in the unit)", dir)
	}
	leaf := filepath.Join(dir, operatorLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cgroup %s is not delegated to this user: %w", dir, err)
	}
	if err := writeControl(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return err
	}
	var errs []error
	for _, name := range want {
		// One by one: the kernel takes all or none of a list.
		errs = append(errs, writeControl(dir, "cgroup.subtree_control", "+"+name))
	}
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(append(errs, writeControl(dir, "cgroup.procs", strconv.Itoa(pid)))...)
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

// hasController reports that a group may limit what is named.
func hasController(dir, name string) bool { return listed(dir, "cgroup.controllers", name) }

// passesOn reports that groups below dir may limit what is named.
func passesOn(dir, name string) bool { return listed(dir, "cgroup.subtree_control", name) }

func listed(dir, file, name string) bool {
	raw, err := os.ReadFile(filepath.Join(dir, file))
	return err == nil && slices.Contains(strings.Fields(string(raw)), name)
}
