package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-logr/logr"
)

// maxMessage bounds one message of a server, in bytes.
const maxMessage = 16 << 20

var errTooLong = fmt.Errorf("a message of more than %d MiB", maxMessage>>20)

// messageLines passes on the lines of a server's output that are JSON. Banners, progress and prints that programs put
// on their standard output would end the connection otherwise.
type messageLines struct {
	in    *bufio.Reader
	other func(line []byte)
	rest  []byte
}

func newMessageLines(r io.Reader, other func([]byte)) *messageLines {
	return &messageLines{in: bufio.NewReaderSize(r, 64<<10), other: other}
}

// Read implements io.Reader.
func (m *messageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
				m.rest = append(trimmed[:len(trimmed):len(trimmed)], '\n')
				break
			}
			m.other(trimmed)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messageLines) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := m.in.ReadSlice('\n')
		if len(whole)+len(part) > maxMessage {
			return nil, errTooLong
		}
		whole = append(whole, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

const (
	// maxLogLine and maxLogLines bound what one connection of a server writes to the log.
	maxLogLine  = 1 << 10
	maxLogLines = 200
	lastLines   = 5
)

// noise takes what a server writes besides messages: a bounded number of lines goes to the log, and the last ones are
// kept to say why it ended.
type noise struct {
	log  logr.Logger
	hide func(string) string

	mu      sync.Mutex
	partial []byte
	lines   int
	last    []string
}

// Write implements io.Writer; it never fails.
func (n *noise) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if room := maxLogLine - len(n.partial); len(part) > room {
			part = part[:room]
		}
		n.partial = append(n.partial, part...)
		if end < 0 {
			break
		}
		n.line(n.partial, "stderr")
		n.partial, rest = n.partial[:0], rest[end+1:]
	}
	return len(p), nil
}

// stray takes a line of the standard output that is no message.
func (n *noise) stray(line []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.line(line[:min(len(line), maxLogLine)], "stdout")
}

func (n *noise) line(raw []byte, stream string) {
	text := strings.TrimSpace(n.hide(strings.ToValidUTF8(string(raw), "\uFFFD")))
	if text == "" {
		return
	}
	if n.last = append(n.last, text); len(n.last) > lastLines {
		n.last = n.last[1:]
	}
	n.lines++
	switch {
	case n.lines < maxLogLines:
		n.log.V(1).Info("output of an MCP server", "stream", stream, "line", text)
	case n.lines == maxLogLines:
		n.log.V(1).Info("an MCP server writes much: no more of it is logged until it is connected again")
	}
}

// words are the last lines, for an error.
func (n *noise) words() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.partial) > 0 {
		n.line(n.partial, "stderr")
		n.partial = n.partial[:0]
	}
	return strings.Join(n.last, " | ")
}
