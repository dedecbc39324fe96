package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

const (
	keyInterrupt = 0x03
	pasteOn      = "\x1b[?2004h"
	pasteOff     = "\x1b[?2004l"
)

// TerminalLines reads lines from a terminal, with editing and history. The terminal is raw only while a line is
// being read and is put back on every way out.
type TerminalLines struct {
	in      *os.File
	screen  io.Writer
	keys    *keys
	editor  *term.Terminal
	history *history
}

// NewTerminalLines reads from in and shows what is typed on screen.
func NewTerminalLines(in *os.File, screen io.Writer) *TerminalLines {
	l := &TerminalLines{in: in, screen: screen, history: &history{}}
	l.reset()
	return l
}

// reset forgets what was typed but not sent; the editor would read a Ctrl-C again otherwise.
func (l *TerminalLines) reset() {
	l.keys = &keys{Reader: l.in}
	l.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{l.keys, l.screen}, "")
	l.editor.History = l.history
}

// Read implements Lines. A line that ends in a backslash, or that was pasted with its line end, goes on.
func (l *TerminalLines) Read(ctx context.Context, prompt string) (string, bool, error) {
	l.history.closed = false
	line, err := l.line(ctx, prompt)
	if errors.Is(err, term.ErrPasteIndicator) {
		return line, true, nil
	}
	if n := len(line); err == nil && n > 0 && line[n-1] == '\\' {
		return line[:n-1], true, nil
	}
	return line, false, err
}

// Ask implements Lines.
func (l *TerminalLines) Ask(ctx context.Context, prompt string) (string, error) {
	l.history.closed = true
	l.dropTypeAhead()
	line, err := l.line(ctx, prompt)
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// dropTypeAhead forgets what was typed before a question was shown: nobody can have meant it as the answer.
func (l *TerminalLines) dropTypeAhead() {
	l.reset() // lines that the editor has read already
	_ = discardInput(int(l.in.Fd()))
}

// line reads one line. When ctx ends first, the read itself is left behind: the program is on its way out.
func (l *TerminalLines) line(ctx context.Context, prompt string) (string, error) {
	fd := int(l.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() {
		_, _ = io.WriteString(l.screen, pasteOff)
		_ = term.Restore(fd, before) // nothing is left to try when a terminal is gone
	}()
	_, _ = io.WriteString(l.screen, pasteOn)
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		_ = l.editor.SetSize(width, height)
	}
	l.editor.SetPrompt(prompt)
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := l.editor.ReadLine()
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		if errors.Is(r.err, io.EOF) {
			_, _ = io.WriteString(l.screen, "\r\n")
			interrupted := l.keys.interrupted.Load()
			l.reset()
			if interrupted {
				return "", errInterrupt
			}
		}
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// keys notices Ctrl-C, which the editor does not tell from the end of input.
type keys struct {
	io.Reader
	interrupted atomic.Bool
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p)
	if bytes.IndexByte(p[:n], keyInterrupt) >= 0 {
		k.interrupted.Store(true)
	}
	return n, err
}

// maxHistory is how many lines the arrow keys reach.
const maxHistory = 500

// history implements term.History; while closed it takes no lines, so that answers to questions stay out.
type history struct {
	lines  []string // oldest first
	closed bool
}

// Add implements term.History.
func (h *history) Add(line string) {
	if h.closed || line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = h.lines[1:]
	}
}

// Len implements term.History.
func (h *history) Len() int {
	if h.closed {
		return 0
	}
	return len(h.lines)
}

// At implements term.History; 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
