package tools

import (
	"fmt"
	"os"
	"sync"
)

const (
	// logRing is how much of a background process's output is kept in memory, in bytes.
	logRing = 64 << 10
	// maxLogBytes bounds the file that keeps the rest.
	maxLogBytes = 256 << 20
)

// processLog keeps the output of a background process: the last part in memory, all of it in a file once it is more
// than that. It is safe for concurrent use.
type processLog struct {
	create func() (*os.File, error)

	mu      sync.Mutex
	ring    []byte // the last len(ring) bytes, in order
	total   int64
	file    *os.File
	written int64
	failed  bool
}

func newProcessLog(create func() (*os.File, error)) *processLog { return &processLog{create: create} }

// Write never fails: output that cannot be kept costs itself, not the process.
func (l *processLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && !l.failed && l.total+int64(len(p)) > logRing {
		l.open()
	}
	l.spill(p)
	l.total += int64(len(p))
	if len(l.ring)+len(p) > 2*logRing {
		// Move once every logRing bytes, not with every write.
		keep := max(0, logRing-len(p))
		l.ring = append(l.ring[:0], l.ring[len(l.ring)-min(keep, len(l.ring)):]...)
	}
	if len(p) > logRing {
		l.ring = append(l.ring[:0], p[len(p)-logRing:]...)
		return len(p), nil
	}
	l.ring = append(l.ring, p...)
	return len(p), nil
}

func (l *processLog) open() {
	var err error
	if l.file, err = l.create(); err != nil {
		l.failed = true
		return
	}
	l.spill(l.ring) // nothing has been dropped yet
}

func (l *processLog) spill(p []byte) {
	if l.file == nil || l.failed {
		return
	}
	if room := maxLogBytes - l.written; int64(len(p)) > room {
		p, l.failed = p[:room], true
	}
	n, err := l.file.Write(p)
	l.written += int64(n)
	if err != nil {
		l.failed = true
	}
}

func (l *processLog) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// read returns at most limit bytes from an offset, where they begin, since what was before may not have been kept, and
// how many bytes there are in all.
func (l *processLog) read(offset int64, limit int) (text []byte, from, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.total - int64(len(l.ring))
	if offset < first && offset < l.written && l.file != nil {
		text = make([]byte, min(int64(limit), l.written-offset))
		n, _ := l.file.ReadAt(text, offset)
		if n > 0 {
			return text[:n], offset, l.total
		}
	}
	from = min(max(offset, first), l.total)
	rest := l.ring[from-first:]
	return append([]byte(nil), rest[:min(limit, len(rest))]...), from, l.total
}

// place says where the complete output is.
func (l *processLog) place() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file == nil:
		return ""
	case l.failed:
		return fmt.Sprintf("the first %d bytes: %s", l.written, l.file.Name())
	}
	return "complete output: " + l.file.Name()
}

func (l *processLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close() // each write has told already
		l.file, l.failed = nil, true
	}
}
