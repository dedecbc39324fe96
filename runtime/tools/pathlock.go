package tools

import "sync"

// pathLocks lets one call at a time read a file and write it back: two edits of one answer run side by side, and the
// later rename would undo the earlier one.
type pathLocks struct {
	mu    sync.Mutex
	paths map[string]*pathLock
}

type pathLock struct {
	sync.Mutex
	users int
}

// lock waits for the path and returns what gives it back.
func (l *pathLocks) lock(path string) (unlock func()) {
	l.mu.Lock()
	if l.paths == nil {
		l.paths = map[string]*pathLock{}
	}
	p := l.paths[path]
	if p == nil {
		p = &pathLock{}
		l.paths[path] = p
	}
	p.users++
	l.mu.Unlock()
	p.Lock()
	return func() {
		p.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if p.users--; p.users == 0 {
			delete(l.paths, path)
		}
	}
}
