package tools

import (
	"errors"
	"fmt"
	"io"
)

// ownBox is a sandbox of one directory of the home: what the agent keeps there for itself is reached through tools of
// its own, whatever the roots of the file tools are.
func (s *Set) ownBox(dir string) *sandbox {
	return &sandbox{roots: []string{dir}, home: s.sandbox.home, commandHome: s.sandbox.commandHome, guarded: s.sandbox.guarded}
}

// readOwn reads a text file of a box of at most most bytes. Links are followed inside the box only.
func (s *Set) readOwn(box *sandbox, path string, most int64) ([]byte, error) {
	p, err := box.admit(path, reading)
	if err != nil {
		return nil, err
	}
	f, info, err := s.openIn(box, path, p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, fmt.Errorf("%s has %d bytes and may have %d", path, info.Size(), most)
	}
	raw, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	if binary(raw[:min(len(raw), sniffBytes)]) {
		return nil, errors.New(path + " is not a text file")
	}
	return raw, nil
}
