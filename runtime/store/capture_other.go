//go:build !linux

package store

// captureRetired needs a list of this process's descriptors, which only Linux gives.
func (s *Store) captureRetired(Bucket) {
	s.log.Info("the log that this process was cut off from cannot be captured on this system: keep the process running")
}
