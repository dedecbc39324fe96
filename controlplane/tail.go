package controlplane

import (
	"bytes"
	"io"
	"sync"
)

const (
	tailLines    = 20
	tailLineSize = 2 << 10
)

// tail passes everything on and remembers the last lines, each cut to tailLineSize bytes.
type tail struct {
	out io.Writer

	mu    sync.Mutex
	part  []byte
	lines []string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	for rest := p; len(rest) > 0; {
		line, after, complete := bytes.Cut(rest, []byte("\n"))
		t.part = append(t.part, line[:min(len(line), tailLineSize-min(len(t.part), tailLineSize))]...)
		if complete {
			t.lines = append(t.lines, string(t.part))
			t.lines = t.lines[max(0, len(t.lines)-tailLines):]
			t.part = t.part[:0]
		}
		rest = after
	}
	t.mu.Unlock()
	return t.out.Write(p)
}

// last returns the remembered lines, oldest first, an unfinished one included.
func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := append([]string(nil), t.lines...)
	if len(t.part) > 0 {
		lines = append(lines, string(t.part))
	}
	return lines
}
