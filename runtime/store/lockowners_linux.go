package store

import (
	"errors"
	"os"
)

// lockOwners asks the kernel who holds the store's locks.
func (s *Store) lockOwners() ([]lockOwner, error) {
	if s.guard.files != nil && s.guard.locks == (heldLocks{}) {
		return nil, errors.New("the kernel lists no locks of this filesystem") // else it would list our own
	}
	locks, err := readLockList()
	if err != nil {
		return nil, err
	}
	path, err := resolvePath(s.path)
	if err != nil {
		return nil, err
	}
	return lockOwners(locks, map[string]fileID{"": identify(path), "-shm": identify(path + "-shm")}), nil
}

func readLockList() ([]procLock, error) {
	list, err := os.Open("/proc/locks")
	if err != nil {
		return nil, err
	}
	defer list.Close()
	return parseLocks(list)
}
