package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const procDir = "/proc"

// scanHolders judges every other process of the machine against every watched store.
func scanHolders(ctx context.Context, wanted map[string]watched, holders map[string][]Holder) error {
	pids, err := listPIDs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if pid == os.Getpid() {
			continue
		}
		p := readProcess(pid)
		for path, w := range wanted {
			if h, ok := judgeHolder(p, w); ok {
				holders[path] = append(holders[path], h)
			}
		}
	}
	return nil
}

// listPIDs returns the processes by ascending pid.
func listPIDs() ([]int, error) {
	dir, err := os.Open(procDir)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	return sortedNumbers(names), nil
}

// readProcess reads what a process has open and, where that says anything, its command line. One that is gone has
// nothing open.
func readProcess(pid int) process {
	p := process{pid: pid}
	p.err = eachDescriptor(pid, func(fd int, target string) error {
		if !strings.HasPrefix(target, "/") {
			return nil // a socket, a pipe
		}
		id, err := identifyDescriptor(pid, fd)
		if err == nil {
			p.open = append(p.open, descriptor{target: target, id: id})
		}
		return err
	})
	if len(p.open) > 0 || p.err != nil {
		p.argv = commandLine(pid)
		name, _ := os.ReadFile(procPath(pid, "comm")) // unknown is as good as any other name
		p.name = strings.TrimSpace(string(name))
	}
	return p
}

// eachDescriptor calls visit with every descriptor of a process and the name the kernel gives it. A process or
// descriptor that goes away meanwhile is no error. The first error is returned after all were visited.
func eachDescriptor(pid int, visit func(fd int, target string) error) error {
	dir, err := os.Open(procPath(pid, "fd"))
	if err != nil {
		return unlessGone(err)
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close() // it was only read
	first := unlessGone(err)
	for _, fd := range sortedNumbers(names) {
		target, err := os.Readlink(procPath(pid, "fd", strconv.Itoa(fd)))
		if err == nil {
			err = visit(fd, target)
		}
		if err = unlessGone(err); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// scanUnlinked lists the deleted logs and shared memories of any database that processes have open, as far as this
// user may see. Processes it may not look into are passed over: a store is private to its user (S-105).
func scanUnlinked() ([]unlinked, error) {
	pids, err := listPIDs()
	if err != nil {
		return nil, err
	}
	var found []unlinked
	for _, pid := range pids {
		_ = eachDescriptor(pid, func(fd int, target string) error {
			name, deleted := strings.CutSuffix(target, deletedMark)
			if !deleted || !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
				return nil
			}
			id, err := identifyDescriptor(pid, fd)
			if err == nil {
				found = append(found, unlinked{pid: pid, descriptor: descriptor{target: target, id: id}})
			}
			return err
		})
	}
	return found, nil
}

// ownDescriptors finds this process's descriptors of files by their identity, never by name.
func ownDescriptors(files map[string]fileID) map[fileID][]int {
	wanted := map[fileID]bool{}
	for _, id := range files {
		wanted[id] = true
	}
	found := map[fileID][]int{}
	_ = eachDescriptor(os.Getpid(), func(fd int, _ string) error {
		id, _, err := statDescriptor(fd)
		if err == nil && wanted[id] {
			found[id] = append(found[id], fd)
		}
		return nil // one that was closed meanwhile is not SQLite's log
	})
	return found
}

// identifyDescriptor says what a descriptor of a process has open, unlinked or not. It opens nothing.
func identifyDescriptor(pid, fd int) (fileID, error) {
	var stat syscall.Stat_t
	path := procPath(pid, "fd", strconv.Itoa(fd))
	if err := syscall.Stat(path, &stat); err != nil {
		return fileID{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return fileID{dev: uint64(stat.Dev), ino: stat.Ino}, nil
}

// commandLine returns the arguments of a process, none when they cannot be read.
func commandLine(pid int) []string {
	text, err := os.ReadFile(procPath(pid, "cmdline"))
	text = bytes.TrimRight(text, "\x00")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(string(text), "\x00")
}

func procPath(pid int, rest ...string) string {
	return filepath.Join(append([]string{procDir, strconv.Itoa(pid)}, rest...)...)
}

func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
