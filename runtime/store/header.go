package store

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// applicationIDOffset is where a database's header keeps its application id, in four bytes.
const applicationIDOffset = 68

// headerWatch remembers which application ids the database's header may have: the one SQLite read at open, which may
// still be in the log, and the one that was in the file when it was first looked at. The zero value accepts
// everything.
type headerWatch struct {
	accepted []uint32
	// descriptor is one of SQLite's own, found by identity; 0 when it is not known.
	descriptor int
}

// judge is ErrReplaced when the header's id is none that it may have: another database was copied over this one, which
// leaves the path's identity as it was. It is pure but for remembering the first look.
//
// Implements S-134.
func (h *headerWatch) judge(path string, now uint32) error {
	if len(h.accepted) == 1 {
		h.accepted = append(h.accepted, now)
	}
	if len(h.accepted) == 0 || slices.Contains(h.accepted, now) {
		return nil
	}
	return fmt.Errorf("%s: another database was copied over it (application id %#x instead of %#x): %w: stop every program that uses "+
		"it, then restore a backup", path, now, h.accepted[0], ErrReplaced)
}

// checkHeader reads the id through one of SQLite's own descriptors, which it neither opens nor closes (S-133). What
// cannot be read is unknown and no error. The caller holds the gate.
//
// Implements S-133 and S-134.
func (s *Store) checkHeader() error {
	id := s.guard.files[""]
	if is, _, err := statDescriptor(s.header.descriptor); s.header.descriptor == 0 || err != nil || is != id {
		found := ownDescriptors(map[string]fileID{"": id})[id]
		if len(found) == 0 {
			return nil
		}
		s.header.descriptor = found[0]
	}
	var text [4]byte
	n, err := pread(s.header.descriptor, text[:], applicationIDOffset)
	if err != nil || n != len(text) {
		return nil // a new store is empty until its first checkpoint
	}
	if is, _, err := statDescriptor(s.header.descriptor); err != nil || is != id {
		return nil // closed meanwhile, so it may have been another file
	}
	return s.header.judge(s.path, binary.BigEndian.Uint32(text[:]))
}
