package store

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// captureRetired saves what this handle has open and its paths no longer name, once, when the handle is quarantined.
// The handle keeps its descriptors whether it succeeds or not.
//
// Implements S-132.
func (s *Store) captureRetired(trigger Bucket) {
	c := capture{
		path: s.path, opened: s.guard.files, trigger: trigger, now: s.clock.Now(),
		descriptors: ownDescriptors(s.guard.files), read: pread, stat: statDescriptor,
	}
	dir, err := c.run()
	if err != nil {
		s.log.Error(err, "the log that this process was cut off from was not captured: keep the process running until it is")
		return
	}
	warn(s.log, "captured the log that this process was cut off from", "directory", dir)
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

func statDescriptor(fd int) (fileID, int64, error) {
	var stat syscall.Stat_t
	err := syscall.Fstat(fd, &stat)
	return fileID{dev: uint64(stat.Dev), ino: stat.Ino}, stat.Size, err
}

func pread(fd int, p []byte, offset int64) (int, error) {
	for {
		n, err := unix.Pread(fd, p, offset)
		if err != unix.EINTR {
			return n, err
		}
	}
}
