package store

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
