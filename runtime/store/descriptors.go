package store

import (
	"syscall"

	"golang.org/x/sys/unix"
)

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
