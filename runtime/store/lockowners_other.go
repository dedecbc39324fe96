//go:build !linux

package store

import "errors"

var errNoLockList = errors.New("this system lists no locks")

func (s *Store) lockOwners() ([]lockOwner, error) { return nil, errNoLockList }

func readLockList() ([]procLock, error) { return nil, errNoLockList }
