package orphan

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Adopt makes orphans of descendants children of this process instead of pid 1's.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the collector of orphaned processes: %w", err)
	}
	return nil
}

// ErrBlind means that this machine does not show which children somebody waits for.
var ErrBlind = errors.New("this machine cannot tell orphans from children (no process descriptors): a daemon that hides is not found")

// Probe finds out whether Held sees what package os holds. Without that every
// child would look like an orphan.
func Probe() error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return ErrBlind
	}
	held := Held()
	// Released after the look: releasing is what closes the descriptor.
	if err := self.Release(); err != nil || !held[os.Getpid()] {
		return ErrBlind
	}
	return nil
}

// Held is the processes of which this process holds a descriptor: every child
// started by package os and not waited for yet.
func Held() map[int]bool {
	held := map[int]bool{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return held
	}
	for _, fd := range fds {
		link, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name()))
		if err != nil || !strings.Contains(link, "pidfd") {
			continue // anon_inode:[pidfd], or pidfd:[inode] where pidfds have a filesystem
		}
		info, err := os.ReadFile(filepath.Join("/proc/self/fdinfo", fd.Name()))
		if err != nil {
			continue
		}
		if pid, ok := infoPID(info); ok {
			held[pid] = true
		}
	}
	return held
}

// infoPID reads the process of a descriptor; one whose process was collected says -1.
func infoPID(info []byte) (int, bool) {
	for line := range bytes.Lines(info) {
		if value, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			return pid, err == nil && pid > 0
		}
	}
	return 0, false
}

// Children lists the children of this process, zombies included.
func Children() []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		for field := range bytes.FieldsSeq(raw) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// Collect takes the exit status of exactly this child if it is a zombie; anything else is left alone.
func Collect(pid int) {
	for {
		_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
